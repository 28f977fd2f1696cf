// Attention and what surrounds it.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "Attention", .autocast = kLower, .widening = kComputes, .rows = AttentionRows},
    {.op = "LinearAttention", .autocast = kLower, .rows = FirstAxesRows},
    {.op = "RotaryEmbedding", .autocast = kFollow, .widening = kComputes, .rows = FirstAxesRows},
    {.op = "TensorScatter", .autocast = kFollow},
    {.op = "Attention", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kComputes},
    {.op = "RotaryEmbedding", .domain = kMicrosoftDomain, .autocast = kFull, .widening = kComputes},
};

}  // namespace

absl::Span<const OpFacts> AttentionFacts() { return kFacts; }

}  // namespace onward
