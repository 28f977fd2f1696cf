#include "training/step/lbfgs_step.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/config/make_optimizer.h"
#include "training/rewrite/loss_scale.h"
#include "training/rewrite/names.h"
#include "training/step/accumulated_step.h"
#include "training/step/anomaly.h"
#include "training/step/batch_inputs.h"
#include "training/step/step_outputs.h"

namespace onward::training {
namespace {

bool AllFinite(const Lbfgs::Tensors& tensors) {
  for (const auto& [name, tensor] : tensors)
    if (!RefuseNonFinite(name, tensor.view()).ok()) return false;
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingStep>> LbfgsStep::Create(const StepContext& context) {
  const TrainConfig& config = context.config;
  const auto refuse = [](const char* what) {
    return absl::InvalidArgumentError(absl::StrCat("optimizer: LBFGS has no ", what));
  };
  if (config.has_average()) return refuse("averages of weights");
  if (ScalesLoss(config)) return refuse("scaled loss: train in FLOAT32 or BFLOAT16");
  for (const std::string& name : context.phases.weights()) {
    if (!name.starts_with(kLbfgsPrefix)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the model's initializer '", name,
                     "' has the name of state of LBFGS in checkpoints; rename it in the model"));
  }
  return std::unique_ptr<TrainingStep>(
      new LbfgsStep(context, MakeLbfgsOptions(config.optimizer().lbfgs())));
}

absl::StatusOr<std::vector<LbfgsStep::GivenBatch>> LbfgsStep::ReadBatches(StepReport& report) {
  const double begin = Now();
  std::vector<GivenBatch> batches;
  const int64_t epoch = context_.batches.position().epoch;
  for (int64_t i = 0; TakesBatch(context_, i, epoch); ++i) {
    GivenBatch& given = batches.emplace_back();
    ONWARD_ASSIGN_OR_RETURN(given.batch, context_.batches.Next());
    given.places = context_.batches.places();
    given.slice = context_.batches.slice();
    ONWARD_RETURN_IF_ERROR(context_.checks.CheckData(given.batch, given.places));
    report.examples += given.slice.whole;
    ONWARD_ASSIGN_OR_RETURN(given.inputs, InputsOf(context_.session.data_inputs(), given.batch,
                                                   context_.config.data()));
  }
  report.data_seconds = Now() - begin;
  return batches;
}

absl::StatusOr<TrainingStep::Tensors> LbfgsStep::Parameters() const {
  Tensors parameters;
  for (const std::string& name : context_.phases.parameters) {
    ONWARD_ASSIGN_OR_RETURN(const Tensor value, context_.session.State(name));
    parameters[name] = value.Clone();
  }
  return parameters;
}

absl::Status LbfgsStep::SetParameters(const Tensors& values) {
  for (const auto& [name, value] : values)
    ONWARD_RETURN_IF_ERROR(context_.session.Set(name, value));
  return absl::OkStatus();
}

// All evaluations of a step draw the same masks.
absl::StatusOr<Lbfgs::Evaluation> LbfgsStep::Evaluate(const std::vector<GivenBatch>& batches,
                                                      const Tensors& at, StepReport* report) {
  ONWARD_RETURN_IF_ERROR(SetParameters(at));
  TrainingSession& session = context_.session;
  session.session().set_run_index(
      static_cast<uint64_t>(context_.progress.step * context_.config.accumulate()));
  LossMean mean;
  TrainingSession::Outputs outputs;
  for (const GivenBatch& given : batches) {
    if (report == nullptr && context_.interrupted && context_.interrupted())
      return absl::CancelledError("interrupted");
    ONWARD_RETURN_IF_ERROR(SetSlice(context_, given.slice));
    ONWARD_RETURN_IF_ERROR(NamePlace(AtStep(context_.progress, session.Step(given.inputs, outputs)),
                                     given.batch, given.places));
    mean.Add(session.outputs(), outputs);
  }
  const size_t last = context_.phases.apply.value_or(0);
  if (last != 0) {
    outputs.clear();
    ONWARD_RETURN_IF_ERROR(session.Step({}, outputs, last));
  }
  const StepOutputs& places = session.outputs(last);
  const std::vector<std::string>& parameters = context_.phases.parameters;
  if (report != nullptr) {
    ReadGradients(places, outputs, parameters, *report);
    report->losses = mean.losses();
  }
  Lbfgs::Evaluation found;
  found.loss = mean.value();
  for (size_t i = 0; i < parameters.size(); ++i)
    found.gradients[parameters[i]] = outputs[places.lbfgs_gradients[i]].tensor();
  return found;
}

absl::StatusOr<bool> LbfgsStep::Make(StepReport& report) {
  lbfgs_.set_lr(report.rate);
  ONWARD_ASSIGN_OR_RETURN(const std::vector<GivenBatch> batches, ReadBatches(report));
  ONWARD_ASSIGN_OR_RETURN(Tensors parameters, Parameters());
  const Tensors before = parameters;
  bool first = true;
  const auto closure = [&](const Tensors& at) {
    return Evaluate(batches, at, std::exchange(first, false) ? &report : nullptr);
  };
  ONWARD_ASSIGN_OR_RETURN(report.loss, lbfgs_.Step(parameters, closure));
  lbfgs_before_.reset();  // nothing interrupts the step from here on
  before_.clear();
  const bool finite = std::isfinite(report.loss) && AllFinite(parameters);
  if (!finite) {
    // NaN stands for the parameters' too: a loss that is finite may leave such.
    for (const GivenBatch& given : batches)
      context_.checks.NoteData(std::nan(""), given.batch, given.places);
    if (context_.config.non_finite() == TrainConfig::STOP && std::isfinite(report.loss) &&
        !context_.checks.data_are_bad()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the loss of step ", context_.progress.step + 1, " is ", report.loss,
          " and LBFGS left its parameters not finite; checkpoints are of steps before it"));
    }
    lbfgs_.Restart();
  }
  ONWARD_RETURN_IF_ERROR(SetParameters(finite ? parameters : before));
  return finite;
}

absl::Status LbfgsStep::Begin() {
  if (context_.interrupted == nullptr) return absl::OkStatus();
  lbfgs_before_ = lbfgs_;
  ONWARD_ASSIGN_OR_RETURN(before_, BatchState(context_));
  for (const std::string& name : context_.phases.parameters) {
    ONWARD_ASSIGN_OR_RETURN(before_[name], context_.session.State(name));
  }
  return absl::OkStatus();
}

absl::Status LbfgsStep::Undo() {
  if (lbfgs_before_) lbfgs_ = *std::exchange(lbfgs_before_, std::nullopt);
  ONWARD_RETURN_IF_ERROR(SetParameters(before_));
  before_.clear();
  return context_.phases.apply ? ClearAccumulated(context_.session) : absl::OkStatus();
}

absl::Status LbfgsStep::CheckExport() const {
  return absl::FailedPreconditionError(
      "export.training_step: one step of LBFGS evaluates its graph a variable number of times, so "
      "that it is not one graph; choose another optimizer");
}

}  // namespace onward::training
