// Normalizations. BatchNormalization reads its statistics in their own dtype.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "BatchNormalization",
     .autocast = kFollow,
     .widening = kComputes,
     .rows = BatchNormalizationRows},
    {.op = "GroupNormalization", .autocast = kFull, .widening = kComputes, .rows = FirstAxisRows},
    {.op = "InstanceNormalization",
     .autocast = kFull,
     .widening = kComputes,
     .rows = FirstAxisRows},
    {.op = "LRN", .autocast = kFull, .widening = kComputes, .rows = FirstAxisRows},
    {.op = "LayerNormalization", .autocast = kFull, .widening = kComputes, .rows = FromAxisRows},
    {.op = "LpNormalization", .autocast = kFull, .widening = kComputes, .rows = AlongAxisRows},
    {.op = "MeanVarianceNormalization", .autocast = kFull, .widening = kComputes},
    {.op = "RMSNormalization", .autocast = kFull, .widening = kComputes, .rows = FromAxisRows},
    {.op = "AddLayerNormalization", .domain = kOnwardDomain, .autocast = kFull},
    {.op = "AddRMSNormalization", .domain = kOnwardDomain, .autocast = kFull},
};

}  // namespace

absl::Span<const OpFacts> NormalizationFacts() { return kFacts; }

}  // namespace onward
