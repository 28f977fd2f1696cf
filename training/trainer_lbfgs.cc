// A trainer's step where the optimizer is LBFGS: its batches are read once, and evaluated at the
// points that it asks for.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "training/anomaly.h"
#include "training/loss_scale.h"
#include "training/step_outputs.h"
#include "training/trainer.h"

namespace onward {
namespace {

bool AllFinite(const Lbfgs::Tensors& tensors) {
  for (const auto& [name, tensor] : tensors)
    if (!RefuseNonFinite(name, tensor.view()).ok()) return false;
  return true;
}

}  // namespace

absl::Status Trainer::OpenLbfgs() {
  if (!IsLbfgs(config_)) return absl::OkStatus();
  const auto refuse = [](const char* what) {
    return absl::InvalidArgumentError(absl::StrCat("optimizer: LBFGS has no ", what));
  };
  if (config_.optimizer().group_size() > 0) return refuse("groups of parameters");
  if (config_.has_average()) return refuse("averages of weights");
  if (ScalesLoss(config_)) return refuse("scaled loss: train in FLOAT32 or BFLOAT16");
  const auto& options = config_.optimizer().options();
  ONWARD_ASSIGN_OR_RETURN(const Lbfgs::Options made,
                          Lbfgs::OptionsOf({options.begin(), options.end()}));
  lbfgs_ = std::make_unique<Lbfgs>(made);
  return absl::OkStatus();
}

// Loss and gradients at the parameters `at`; `report`: of the first evaluation, else null. All
// evaluations of a step draw the same masks.
absl::StatusOr<Lbfgs::Evaluation> Trainer::EvaluateBatches(const std::vector<GivenBatch>& batches,
                                                           const Lbfgs::Tensors& at,
                                                           StepReport* report) {
  for (const auto& [name, value] : at) ONWARD_RETURN_IF_ERROR(session_->Set(name, value));
  session_->session().set_run_index(static_cast<uint64_t>(progress_.step * config_.accumulate()));
  Lbfgs::Evaluation found;
  for (const GivenBatch& given : batches) {
    if (report == nullptr && Interrupted()) return absl::CancelledError("interrupted");
    const absl::StatusOr<Session::Outputs> ran = session_->Step(given.inputs);
    if (!ran.ok()) return NamePlace(ran.status(), given.batch, given.places);
    const Session::Outputs& outputs = *ran;
    found.loss += LossOf(outputs) / static_cast<double>(batches.size());
    if (report != nullptr) ReadGradients(outputs, *report);
    for (const std::string& name : phases_.parameters) {
      const Tensor& gradient = outputs.at(kLbfgsGradientPrefix + name).tensor();
      const auto emplaced = found.gradients.try_emplace(name, gradient);
      if (emplaced.second) continue;
      Tensor& sum = emplaced.first->second;
      DispatchDType(FloatTypes(), gradient.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        T* to = sum.template mutable_data<T>();
        const T* from = gradient.data<T>();
        for (int64_t i = 0; i < gradient.num_elements(); ++i)
          to[i] = static_cast<T>(static_cast<double>(to[i]) + static_cast<double>(from[i]));
      });
    }
  }
  return found;
}

absl::StatusOr<StepReport> Trainer::MakeLbfgsStep() {
  StepReport report;
  const double begin = Now();
  const bool plateau = progress_.plateau.has_value();
  report.rate = plateau ? progress_.plateau->rate : schedules_[0](progress_.step).rate;
  report.epoch = loader_->position().epoch;
  lbfgs_->set_lr(report.rate);
  std::vector<GivenBatch> batches;
  for (int64_t i = 0; i < config_.accumulate(); ++i) {
    GivenBatch& given = batches.emplace_back();
    ONWARD_ASSIGN_OR_RETURN(given.batch, loader_->Next());
    given.places = loader_->places();
    report.examples += given.batch.begin()->second.dims()[0];
    ONWARD_ASSIGN_OR_RETURN(given.inputs,
                            InputsOf(session_->inputs(), given.batch, config_.data()));
  }
  report.data_seconds = Now() - begin;
  Lbfgs::Tensors parameters;
  for (const std::string& name : phases_.parameters) {
    ONWARD_ASSIGN_OR_RETURN(const Tensor value, session_->State(name));
    parameters[name] = value.Clone();
  }
  const Lbfgs::Tensors before = parameters;
  bool first = true;
  const auto closure = [&](const Lbfgs::Tensors& at) {
    return EvaluateBatches(batches, at, std::exchange(first, false) ? &report : nullptr);
  };
  ONWARD_ASSIGN_OR_RETURN(report.loss, lbfgs_->Step(parameters, closure));
  report.skipped = !std::isfinite(report.loss) || !AllFinite(parameters);
  if (report.skipped && config_.non_finite() == TrainConfig::STOP) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the loss of step ", progress_.step + 1, " is ", report.loss,
        ", or LBFGS left its parameters not finite; checkpoints are of steps before it"));
  }
  if (report.skipped) lbfgs_->Restart();
  for (const auto& [name, value] : report.skipped ? before : parameters)
    ONWARD_RETURN_IF_ERROR(session_->Set(name, value));
  report.step = ++progress_.step;
  ONWARD_RETURN_IF_ERROR(ReadWeights(report));
  report.seconds = Now() - begin;
  return report;
}

}  // namespace onward
