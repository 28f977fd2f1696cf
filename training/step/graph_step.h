// A step of one batch, which one graph makes.
#pragma once

#include "training/step/step.h"
#include "training/step/step_outputs.h"

namespace onward::training {

class GraphStep : public TrainingStep {
 public:
  explicit GraphStep(const StepContext& context) : context_(context) {}

  absl::StatusOr<bool> Make(StepReport& report) override;

 protected:
  // Runs the first phase on the loader's next batch: its loss joins `mean`. Returns whether its
  // gradients are finite, as far as the phase looks at them.
  absl::StatusOr<bool> RunBatch(StepReport& report, LossMean& mean);

  const StepContext context_;

 private:
  TrainingSession::Outputs outputs_;  // their memory is used again in each step
};

}  // namespace onward::training
