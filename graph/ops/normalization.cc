// Normalizations. BatchNormalization reads its statistics in their own dtype.
#include "graph/ops/facts.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "BatchNormalization", .autocast = kFollow, .widening = kComputes},
    {.op = "GroupNormalization", .autocast = kFull, .widening = kComputes},
    {.op = "InstanceNormalization", .autocast = kFull, .widening = kComputes},
    {.op = "LRN", .autocast = kFull, .widening = kComputes},
    {.op = "LayerNormalization", .autocast = kFull, .widening = kComputes},
    {.op = "LpNormalization", .autocast = kFull, .widening = kComputes},
    {.op = "MeanVarianceNormalization", .autocast = kFull, .widening = kComputes},
    {.op = "RMSNormalization", .autocast = kFull, .widening = kComputes},
    {.op = "AddLayerNormalization", .domain = kOnwardDomain, .autocast = kFull},
    {.op = "AddRMSNormalization", .domain = kOnwardDomain, .autocast = kFull},
};

}  // namespace

absl::Span<const OpFacts> NormalizationFacts() { return kFacts; }

}  // namespace onward
