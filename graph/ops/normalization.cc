// Normalizations. BatchNormalization reads its statistics in their own dtype.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"BatchNormalization", AutocastClass::kFollow},
    {"GroupNormalization", AutocastClass::kFull},
    {"InstanceNormalization", AutocastClass::kFull},
    {"LRN", AutocastClass::kFull},
    {"LayerNormalization", AutocastClass::kFull},
    {"LpNormalization", AutocastClass::kFull},
    {"MeanVarianceNormalization", AutocastClass::kFull},
    {"RMSNormalization", AutocastClass::kFull},
};

}  // namespace

absl::Span<const OpFacts> NormalizationFacts() { return kFacts; }

}  // namespace onward
