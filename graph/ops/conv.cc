// Convolutions.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"CausalConvWithState", AutocastClass::kLower},
    {"Col2Im", AutocastClass::kFollow},
    {"Conv", AutocastClass::kLower},
    {"ConvTranspose", AutocastClass::kLower},
    {"DeformConv", AutocastClass::kFull},
};

}  // namespace

absl::Span<const OpFacts> ConvFacts() { return kFacts; }

}  // namespace onward
