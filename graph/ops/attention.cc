// Attention and what surrounds it.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Attention", Precision::kLower},
    {"LinearAttention", Precision::kLower},
    {"RotaryEmbedding", Precision::kFollow},
    {"TensorScatter", Precision::kFollow},
};

}  // namespace

absl::Span<const OpFacts> AttentionFacts() { return kFacts; }

}  // namespace onward
