// A step that several ranks make together, each with a slice of the batch's rows: what adds up over
// the rows is added up over the ranks, so that each of them makes the step of the whole batch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onward/expr.h"
#include "onward/graph.h"

namespace onward::training {

// The gradients of parameters `names`, as they are over the rows of all ranks.
absl::Status AllReduceGradients(Model& model, const std::vector<std::string>& names,
                                std::vector<ValueId>& gradients);

// `share`, here and below: the graph's input kBatchShare, which is added where it is not there yet.

// A loss in parts that add up over the rows of a batch (LossParts).
struct SummedLoss {
  expr::Expr own;    // of the rank's rows: what gradients are of
  expr::Expr sum;    // of all rows
  expr::Expr count;  // of all rows; none where `count` was none
};
SummedLoss AllReduceLoss(expr::GraphSink& sink, const expr::Expr& sum, const expr::Expr& count,
                         std::optional<ValueId>& share);

// Tells nodes that draw random numbers which dim of what they draw for counts the rows of the batch
// (kBatchAxisKey), so that each row draws what it draws in the whole batch. The rows are the first
// dims of the model's inputs; a dim that is computed from them, such as batch * sequence, has the
// elements of one row after those of the other.
void MarkBatchAxes(Graph& graph);

// Floats that the model itself updates, such as running statistics: their mean over the ranks, by
// the rows of each. Statistics of a batch are those of the rank's rows, as in PyTorch's
// DistributedDataParallel, which takes the running ones of rank 0.
absl::Status AllReduceUpdates(Model& model, std::optional<ValueId>& share);

}  // namespace onward::training
