// Softmax and its logarithm.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"LogSoftmax", AutocastClass::kFull},
    {"Softmax", AutocastClass::kFull},
};

}  // namespace

absl::Span<const OpFacts> SoftmaxFacts() { return kFacts; }

}  // namespace onward
