// Losses.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"NegativeLogLikelihoodLoss", AutocastClass::kFull},
    {"SoftmaxCrossEntropyLoss", AutocastClass::kFull},
};

}  // namespace

absl::Span<const OpFacts> LossFacts() { return kFacts; }

}  // namespace onward
