// What Trainer does where it is interrupted in the middle of a step.
#include <utility>

#include "graph/base/status.h"
#include "training/rewrite/accumulation.h"
#include "training/trainer/trainer.h"

namespace onward {

bool Trainer::Interrupted() {
  interrupted_ |= options_.interrupted != nullptr && options_.interrupted();
  return interrupted_;
}

absl::StatusOr<Trainer::StepStart> Trainer::BeginStep() const {
  StepStart start{progress_, {}, std::nullopt};
  // A step of one batch is not interrupted.
  if (options_.interrupted == nullptr || (lbfgs_ == nullptr && !phases_.apply)) return start;
  if (lbfgs_ != nullptr) {
    start.lbfgs = *lbfgs_;
    for (const std::string& name : phases_.parameters) {
      ONWARD_ASSIGN_OR_RETURN(start.state[name], session_->State(name));
    }
  }
  for (const std::string& name : batch_state_) {
    // Sums over the batches of a step are zeros at its start.
    if (phases_.apply && IsAccumulated(name)) continue;
    ONWARD_ASSIGN_OR_RETURN(start.state[name], session_->State(name));
  }
  return start;
}

absl::Status Trainer::UndoStep(const StepStart& start) {
  progress_ = start.progress;
  if (start.lbfgs) *lbfgs_ = *start.lbfgs;
  for (const auto& [name, value] : start.state) ONWARD_RETURN_IF_ERROR(session_->Set(name, value));
  return phases_.apply ? ClearAccumulated(*session_) : absl::OkStatus();
}

}  // namespace onward
