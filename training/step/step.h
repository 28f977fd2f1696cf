// One step of a training: the coming batches become new weights. Each kind of step has a file:
// a graph that does all of it (graph_step), batches that add up before a second graph updates the
// weights (accumulated_step), and LBFGS, which evaluates its batches at many points (lbfgs_step).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/train_config.pb.h"
#include "onward/training_report.h"
#include "training/data/batch_source.h"
#include "training/step/finite_checks.h"
#include "training/step/phases.h"
#include "training/step/progress.h"
#include "training/step/training_session.h"

namespace onward::training {

// The context of steps. All of it outlives them.
struct StepContext {
  const TrainConfig& config;
  const TrainingPhases& phases;
  TrainingSession& session;
  BatchSource& batches;
  const TrainingProgress& progress;
  FiniteChecks& checks;
  // Asked between batches; true ends the step with Cancelled. Null: nobody interrupts.
  std::function<bool()> interrupted;
};

// Not thread-safe.
class TrainingStep {
 public:
  virtual ~TrainingStep() = default;
  // Takes its batches from `batches`; the settings of the step (rates, scales) are in the session
  // and in `report`, which gets the loss, the gradients' norms and values, examples and the
  // seconds that data took. Returns whether loss and gradients are finite: where they are not,
  // the weights are those before the step. Errors: of the data, or of the graph's run, with the
  // number of the step.
  virtual absl::StatusOr<bool> Make(StepReport& report) = 0;

  // Remembers the state as it is, where a step may be interrupted in its middle, and brings it
  // back where Make returned Cancelled. What is remembered goes when Make can no longer do that.
  virtual absl::Status Begin() { return absl::OkStatus(); }
  virtual absl::Status Undo() { return absl::OkStatus(); }

  // FailedPrecondition: a step is not one graph that could be exported.
  virtual absl::Status CheckExport() const { return absl::OkStatus(); }

  // The tensors that it keeps from step to step outside the session, for checkpoints.
  using Tensors = std::map<std::string, Tensor>;
  virtual Tensors State() const { return {}; }
  virtual absl::Status SetState(const Tensors&) { return absl::OkStatus(); }
};

// Returns whether a step that is not finite leaves the weights as they were, in place of ending the
// training: such a training keeps the state before a step while it runs.
bool SkipsSteps(const TrainConfig& config);

// Returns whether a step that has taken so many batches of epoch `epoch` takes another one. Steps
// have batches of one epoch alone: what is left at its end makes a smaller step.
bool TakesBatch(const StepContext& context, int64_t taken, int64_t epoch);

// Tells the session which rows of its batch the coming run has.
absl::Status SetSlice(const StepContext& context, const BatchSlice& slice);

// Names the step that runs.
absl::Status AtStep(const TrainingProgress& progress, const absl::Status& status);

}  // namespace onward::training
