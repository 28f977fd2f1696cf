// A trainer's step where the optimizer is LBFGS: its batches are read once, and evaluated at the
// points that it asks for.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "training/rewrite/loss_scale.h"
#include "training/step/anomaly.h"
#include "training/step/step_outputs.h"
#include "training/trainer/trainer.h"

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
  LossMean mean;
  Session::Outputs outputs;
  for (const GivenBatch& given : batches) {
    if (report == nullptr && Interrupted()) return absl::CancelledError("interrupted");
    absl::StatusOr<Session::Outputs> ran = session_->Step(given.inputs);
    if (!ran.ok()) return NamePlace(AtStep(ran.status()), given.batch, given.places);
    outputs = *std::move(ran);
    mean.Add(outputs);
  }
  if (phases_.apply) {
    ONWARD_ASSIGN_OR_RETURN(outputs, session_->Step({}, *phases_.apply));
  }
  if (report != nullptr) ReadGradients(outputs, *report);
  Lbfgs::Evaluation found;
  found.loss = mean.value();
  for (const std::string& name : phases_.parameters)
    found.gradients[name] = outputs.at(kLbfgsGradientPrefix + name).tensor();
  return found;
}

absl::StatusOr<StepReport> Trainer::MakeLbfgsStep() {
  StepReport report;
  const double begin = Now();
  ReportRates(report);
  report.epoch = loader_->position().epoch;
  lbfgs_->set_lr(report.rate);
  std::vector<GivenBatch> batches;
  for (int64_t i = 0; TakesBatch(i, report.epoch); ++i) {
    GivenBatch& given = batches.emplace_back();
    ONWARD_ASSIGN_OR_RETURN(given.batch, loader_->Next());
    given.places = loader_->places();
    ONWARD_RETURN_IF_ERROR(RefuseNonFiniteData(given.batch));
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
  for (size_t i = 0; report.skipped && i < batches.size() && bad_data_.empty(); ++i)
    bad_data_ = NonFinitePlace(batches[i].batch, batches[i].places);
  if (report.skipped && config_.non_finite() == TrainConfig::STOP) {
    if (!bad_data_.empty() || !std::isfinite(report.loss)) return NonFiniteLoss(report.loss);
    return absl::FailedPreconditionError(absl::StrCat(
        "the loss of step ", progress_.step + 1, " is ", report.loss,
        " and LBFGS left its parameters not finite; checkpoints are of steps before it"));
  }
  WarnOfSkippedData(report.skipped);
  if (report.skipped) lbfgs_->Restart();
  for (const auto& [name, value] : report.skipped ? before : parameters)
    ONWARD_RETURN_IF_ERROR(session_->Set(name, value));
  report.step = ++progress_.step;
  ONWARD_RETURN_IF_ERROR(ReadWeights(report));
  report.seconds = Now() - begin;
  return report;
}

}  // namespace onward
