// A step over several batches: sums of one graph, from which a second one updates the weights.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "training/step/graph_step.h"

namespace onward::training {

class AccumulatedStep : public GraphStep {
 public:
  explicit AccumulatedStep(const StepContext& context) : GraphStep(context) {}

  absl::StatusOr<bool> Make(StepReport& report) override;
  absl::Status Begin() override;
  absl::Status Undo() override;
  absl::Status CheckExport() const override;

 private:
  TrainingSession::Outputs update_outputs_;
  std::map<std::string, Tensor> before_;  // state that the batches of a step change
};

// Zeroes the sums that a step which is not applied leaves.
absl::Status ClearAccumulated(TrainingSession& session);

// The state that a run of the first phase changes, but for sums over the batches of a step, which
// are zeros at its start.
absl::StatusOr<std::map<std::string, Tensor>> BatchState(const StepContext& context);

}  // namespace onward::training
