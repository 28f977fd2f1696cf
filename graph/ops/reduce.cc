// Reductions and running sums.
#include "graph/ops/facts.h"

namespace onward {
namespace {

using enum AutocastClass;
using enum Widening;

constexpr OpFacts kFacts[] = {
    {.op = "ArgMax", .autocast = kFollow, .widening = kMoves, .rows = ArgReduceRows},
    {.op = "ArgMin", .autocast = kFollow, .widening = kMoves, .rows = ArgReduceRows},
    {.op = "CumProd", .autocast = kFull, .rows = AlongAxisRows},
    {.op = "CumSum", .autocast = kFull, .widening = kComputes, .rows = AlongAxisRows},
    {.op = "Hardmax", .autocast = kFollow, .rows = AlongAxisRows},
    {.op = "ReduceL1", .autocast = kFull, .widening = kComputes, .rows = ReduceRows},
    {.op = "ReduceL2", .autocast = kFull, .widening = kComputes, .rows = ReduceRows},
    {.op = "ReduceLogSum", .autocast = kFull, .rows = ReduceRows},
    {.op = "ReduceLogSumExp", .autocast = kFull, .widening = kComputes, .rows = ReduceRows},
    {.op = "ReduceMax", .autocast = kFollow, .widening = kMoves, .rows = ReduceRows},
    {.op = "ReduceMean", .autocast = kFollow, .widening = kComputes, .rows = ReduceRows},
    {.op = "ReduceMin", .autocast = kFollow, .widening = kMoves, .rows = ReduceRows},
    {.op = "ReduceProd", .autocast = kFull, .widening = kComputes, .rows = ReduceRows},
    {.op = "ReduceSum", .autocast = kFull, .widening = kComputes, .rows = ReduceRows},
    {.op = "ReduceSumSquare", .autocast = kFull, .widening = kComputes, .rows = ReduceRows},
    {.op = "TopK", .autocast = kFollow, .widening = kMoves, .rows = AlongAxisRows},
};

}  // namespace

absl::Span<const OpFacts> ReduceFacts() { return kFacts; }

}  // namespace onward
