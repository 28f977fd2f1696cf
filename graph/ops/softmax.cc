// Softmax and its logarithm.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "LogSoftmax", .autocast = kFull, .widening = kComputes, .rows = AlongAxisRows},
    {.op = "Softmax", .autocast = kFull, .widening = kComputes, .rows = AlongAxisRows},
};

}  // namespace

absl::Span<const OpFacts> SoftmaxFacts() { return kFacts; }

}  // namespace onward
