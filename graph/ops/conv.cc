// Convolutions.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"CausalConvWithState", Precision::kLower},
    {"Col2Im", Precision::kFollow},
    {"Conv", Precision::kLower},
    {"ConvTranspose", Precision::kLower},
    {"DeformConv", Precision::kFull},
};

}  // namespace

absl::Span<const OpFacts> ConvFacts() { return kFacts; }

}  // namespace onward
