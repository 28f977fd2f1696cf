// Reductions and running sums.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "ArgMax", .autocast = kFollow, .widening = kMoves},
    {.op = "ArgMin", .autocast = kFollow, .widening = kMoves},
    {.op = "CumProd", .autocast = kFull},
    {.op = "CumSum", .autocast = kFull, .widening = kComputes},
    {.op = "Hardmax", .autocast = kFollow},
    {.op = "ReduceL1", .autocast = kFull, .widening = kComputes},
    {.op = "ReduceL2", .autocast = kFull, .widening = kComputes},
    {.op = "ReduceLogSum", .autocast = kFull},
    {.op = "ReduceLogSumExp", .autocast = kFull, .widening = kComputes},
    {.op = "ReduceMax", .autocast = kFollow, .widening = kMoves},
    {.op = "ReduceMean", .autocast = kFollow, .widening = kComputes},
    {.op = "ReduceMin", .autocast = kFollow, .widening = kMoves},
    {.op = "ReduceProd", .autocast = kFull, .widening = kComputes},
    {.op = "ReduceSum", .autocast = kFull, .widening = kComputes},
    {.op = "ReduceSumSquare", .autocast = kFull, .widening = kComputes},
    {.op = "TopK", .autocast = kFollow, .widening = kMoves},
};

}  // namespace

absl::Span<const OpFacts> ReduceFacts() { return kFacts; }

}  // namespace onward
