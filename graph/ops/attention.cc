// Attention and what surrounds it.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Attention", AutocastClass::kLower},
    {"LinearAttention", AutocastClass::kLower},
    {"RotaryEmbedding", AutocastClass::kFollow},
    {"TensorScatter", AutocastClass::kFollow},
};

}  // namespace

absl::Span<const OpFacts> AttentionFacts() { return kFacts; }

}  // namespace onward
