// Normalizations. BatchNormalization reads its statistics in their own dtype.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"BatchNormalization", Precision::kFollow},      {"GroupNormalization", Precision::kFull},
    {"InstanceNormalization", Precision::kFull},     {"LRN", Precision::kFull},
    {"LayerNormalization", Precision::kFull},        {"LpNormalization", Precision::kFull},
    {"MeanVarianceNormalization", Precision::kFull}, {"RMSNormalization", Precision::kFull},
};

}  // namespace

absl::Span<const OpFacts> NormalizationFacts() { return kFacts; }

}  // namespace onward
