// Losses.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;

constexpr OpFacts kFacts[] = {
    {.op = "NegativeLogLikelihoodLoss", .autocast = kFull},
    {.op = "SoftmaxCrossEntropyLoss", .autocast = kFull},
};

}  // namespace

absl::Span<const OpFacts> LossFacts() { return kFacts; }

}  // namespace onward
