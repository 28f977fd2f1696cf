// Losses.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"NegativeLogLikelihoodLoss", Precision::kFull},
    {"SoftmaxCrossEntropyLoss", Precision::kFull},
};

}  // namespace

absl::Span<const OpFacts> LossFacts() { return kFacts; }

}  // namespace onward
