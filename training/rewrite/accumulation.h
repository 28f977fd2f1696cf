// A step over several batches: its loss and gradient are those of one batch that has all of their
// targets. Each run of the first phase adds up sums, and the phase `apply` divides by the number of
// targets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "onward/expr.h"
#include "training/config/make_loss.h"
#include "training/rewrite/names.h"

namespace onward::training {

// In the graph of a batch: adds its count to the step's, and returns the share of `sum` that flows
// back, a float32 number near 1 / (number of targets of a step), so that float16 gradients have the
// range that they have without accumulation. `count`: none where losses are summed.
Expr AccumulateCount(Model& model, GraphSink& sink, const Expr& count, int64_t batches);

// In the graph of a batch: adds its gradients to the step's, as state of zeros.
absl::Status AccumulateGradients(Model& model, const std::vector<std::string>& names,
                                 const std::vector<ValueId>& gradients);

// In the graph that applies: the gradients of the step, from sums that the next step finds cleared.
// Clears them where `sums` is called after the last use of the gradients.
struct AccumulatedGradients {
  std::vector<ValueId> gradients;
  std::vector<ValueId> sums;  // states: the gradients' and the counts'
};
absl::StatusOr<AccumulatedGradients> ReadAccumulated(Model& model, const std::vector<Tensor>& like,
                                                     const std::vector<std::string>& names,
                                                     bool counted, int64_t batches);
absl::Status ClearSums(Model& model, const std::vector<ValueId>& sums);

// Returns whether a state is a sum over the batches of a step.
bool IsAccumulated(std::string_view state);

}  // namespace onward::training
