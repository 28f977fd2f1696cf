#include "training/step/accumulated_step.h"

#include <cmath>
#include <cstring>

#include "onward/status.h"
#include "training/rewrite/accumulation.h"
#include "training/rewrite/loss_scale.h"

namespace onward::training {

absl::StatusOr<bool> AccumulatedStep::Make(StepReport& report) {
  const int64_t epoch = context_.batches.position().epoch;
  bool finite = true;
  LossMean mean;
  for (int64_t i = 0; TakesBatch(context_, i, epoch); ++i) {
    if (i > 0 && context_.interrupted && context_.interrupted())
      return absl::CancelledError("interrupted");
    ONWARD_ASSIGN_OR_RETURN(const bool batch_finite, RunBatch(report, mean));
    finite &= batch_finite;
  }
  report.loss = mean.value();
  report.losses = mean.losses();
  before_.clear();  // nothing interrupts the step from here on
  TrainingSession& session = context_.session;
  if (!std::isfinite(report.loss)) {
    ONWARD_RETURN_IF_ERROR(ClearAccumulated(session));
    return false;
  }
  const size_t apply = *context_.phases.apply;
  const StepOutputs& at = session.outputs(apply);
  TrainingSession::Accept accept;
  if (ScalesLoss(context_.config)) {
    accept = [&at](const TrainingSession::Outputs& outputs) {
      return GradientsFinite(at, outputs);
    };
  }
  ONWARD_RETURN_IF_ERROR(
      AtStep(context_.progress, session.Step({}, update_outputs_, apply, accept)));
  ReadGradients(at, update_outputs_, context_.phases.parameters, report);
  finite &= GradientsFinite(at, update_outputs_);
  if (!finite) ONWARD_RETURN_IF_ERROR(ClearAccumulated(session));
  return finite;
}

absl::Status AccumulatedStep::Begin() {
  if (context_.interrupted == nullptr) return absl::OkStatus();
  ONWARD_ASSIGN_OR_RETURN(before_, BatchState(context_));
  return absl::OkStatus();
}

absl::Status AccumulatedStep::Undo() {
  for (const auto& [name, value] : before_)
    ONWARD_RETURN_IF_ERROR(context_.session.Set(name, value));
  before_.clear();
  return ClearAccumulated(context_.session);
}

absl::Status AccumulatedStep::CheckExport() const {
  return absl::FailedPreconditionError(
      "export.training_step: a step over several batches is not one graph; set accumulate to 1");
}

absl::Status ClearAccumulated(TrainingSession& session) {
  for (const std::string& name : session.state_names()) {
    if (!IsAccumulated(name)) continue;
    ONWARD_ASSIGN_OR_RETURN(const Tensor old, session.HeldState(name));
    Tensor zeros(old.dtype(), old.dims());
    std::memset(zeros.raw_mutable_data(), 0, static_cast<size_t>(zeros.byte_size()));
    ONWARD_RETURN_IF_ERROR(session.Set(name, std::move(zeros)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Tensor>> BatchState(const StepContext& context) {
  std::map<std::string, Tensor> state;
  for (const std::string& name : context.session.updated_names()) {
    if (context.phases.apply && IsAccumulated(name)) continue;
    ONWARD_ASSIGN_OR_RETURN(state[name], context.session.HeldState(name));
  }
  return state;
}

}  // namespace onward::training
