// One step of Trainer: its settings, its batches, what becomes of a loss that is not finite.
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "training/loss_scale.h"
#include "training/step_outputs.h"
#include "training/trainer.h"

namespace onward {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double LossOf(const Session::Outputs& outputs) {
  return static_cast<double>(outputs.at("loss").tensor().data<float>()[0]);
}

void ReadGradients(const Session::Outputs& outputs, StepReport& report) {
  for (const auto& [name, value] : outputs) {
    if (absl::StartsWith(name, kGradientValuePrefix))
      report.gradients[name.substr(std::strlen(kGradientValuePrefix))] = value.tensor();
    if (!absl::StartsWith(name, "gradient_norm")) continue;
    const auto norm = static_cast<double>(value.tensor().data<float>()[0]);
    if (name == "gradient_norm") report.gradient_norm = norm;
    if (absl::StartsWith(name, kGradientNormPrefix))
      report.gradient_norms[name.substr(std::strlen(kGradientNormPrefix))] = norm;
  }
}

const ScheduleConfig* Trainer::ScheduleOf(size_t group) const {
  const auto& groups = config_.optimizer().group();
  if (group < static_cast<size_t>(groups.size()) && groups[static_cast<int>(group)].has_schedule())
    return &groups[static_cast<int>(group)].schedule();
  return config_.has_schedule() ? &config_.schedule() : nullptr;
}

bool Trainer::SkipsSteps() const {
  return config_.non_finite() == TrainConfig::SKIP || ScalesLoss(config_);
}

absl::Status Trainer::SetRates() {
  for (size_t i = 0; i < phases_.groups.size(); ++i) {
    const GroupSettings& group = phases_.groups[i];
    const ScheduleValue value = schedules_[i](progress_.step);
    const ScheduleConfig* schedule = ScheduleOf(i);
    const bool plateau = schedule != nullptr && schedule->kind() == "plateau";
    Tensor settings(DType::kFloat64, {static_cast<int64_t>(group.values.size())});
    for (size_t k = 0; k < group.values.size(); ++k) {
      double& setting = settings.mutable_data<double>()[k] = group.values[k];
      if (group.settings[k] == "lr") setting = plateau ? progress_.plateau->rate : value.rate;
      if (value.momentum && (group.settings[k] == "momentum" || group.settings[k] == "beta1"))
        setting = *value.momentum;
    }
    ONWARD_RETURN_IF_ERROR(session_->Set(group.input, std::move(settings)));
  }
  return absl::OkStatus();
}

// The share of the coming weights in their average.
absl::Status Trainer::SetAverageWeight() {
  if (!config_.has_average()) return absl::OkStatus();
  const AverageConfig& average = config_.average();
  const bool counts = progress_.step >= average.start() &&
                      (progress_.step - average.start()) % average.every() == 0;
  double weight = 0;
  if (counts) {
    ++progress_.averaged;
    weight = average.kind() == AverageConfig::UNIFORM
                 ? 1.0 / static_cast<double>(progress_.averaged)
             : progress_.averaged == 1 ? 1.0
                                       : 1 - average.decay();
  }
  return session_->Set("average/weight", Tensor::Scalar(weight));
}

// The batches of one step; answers whether their gradients are finite.
absl::StatusOr<bool> Trainer::RunBatches(StepReport& report) {
  // Only a training that skips steps keeps the state before one: two tensors of each.
  TrainingSession::Accept accept;
  if (SkipsSteps()) {
    accept = [&](const Session::Outputs& outputs) {
      return std::isfinite(LossOf(outputs)) && GradientsFinite(outputs);
    };
  }
  bool finite = true;
  for (int64_t i = 0; i < config_.accumulate(); ++i) {
    if (i > 0 && Interrupted()) return absl::CancelledError("interrupted");
    const double waits = Now();
    ONWARD_ASSIGN_OR_RETURN(const Batch batch, loader_->Next());
    report.data_seconds += Now() - waits;
    report.examples += batch.begin()->second.dims()[0];
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                            InputsOf(session_->inputs(), batch, config_.data()));
    ONWARD_RETURN_IF_ERROR(
        NamePlace(session_->Step(given, batch_outputs_, 0, accept), batch, loader_->places()));
    report.loss += LossOf(batch_outputs_) / static_cast<double>(config_.accumulate());
    ReadGradients(batch_outputs_, report);
    finite &= GradientsFinite(batch_outputs_);
  }
  return finite;
}

// What histograms are of, at the steps that have some.
absl::Status Trainer::ReadWeights(StepReport& report) const {
  const LogConfig& log = config_.log();
  if (!log.has_histogram_steps() || report.step % log.histogram_steps() != 0) {
    report.gradients.clear();
    return absl::OkStatus();
  }
  for (const std::string& name : phases_.parameters) {
    ONWARD_ASSIGN_OR_RETURN(report.weights[name], session_->State(name));
  }
  return absl::OkStatus();
}

absl::StatusOr<StepReport> Trainer::MakeStep() {
  StepReport report;
  const double begin = Now();
  const int64_t averaged = progress_.averaged;
  ONWARD_RETURN_IF_ERROR(SetRates());
  ONWARD_RETURN_IF_ERROR(SetAverageWeight());
  ONWARD_RETURN_IF_ERROR(SetLossScale());
  report.epoch = loader_->position().epoch;
  report.rate =
      progress_.plateau ? progress_.plateau->rate : schedules_.back()(progress_.step).rate;
  const bool scales = ScalesLoss(config_);
  // Masks of Dropout are a function of the batch's number, so that a resumed training draws them.
  session_->session().set_run_index(static_cast<uint64_t>(progress_.step * config_.accumulate()));
  ONWARD_ASSIGN_OR_RETURN(bool finite, RunBatches(report));
  report.skipped = !std::isfinite(report.loss);
  if (report.skipped && config_.non_finite() == TrainConfig::STOP && !ScalerHandles()) {
    ONWARD_RETURN_IF_ERROR(JudgeAnomaly(report.skipped));
    return absl::FailedPreconditionError(absl::StrCat(
        "the loss of step ", progress_.step + 1, " is ", report.loss,
        "; checkpoints are of steps before it (non_finite: SKIP goes on without such steps)"));
  }
  if (phases_.apply && report.skipped) {
    ONWARD_RETURN_IF_ERROR(ClearGradients(*session_, phases_.parameters));
  } else if (phases_.apply) {
    ONWARD_RETURN_IF_ERROR(session_->Step({}, update_outputs_, *phases_.apply,
                                          scales ? GradientsFinite : TrainingSession::Accept()));
    ReadGradients(update_outputs_, report);
    finite &= GradientsFinite(update_outputs_);
    if (!finite) ONWARD_RETURN_IF_ERROR(ClearGradients(*session_, phases_.parameters));
  }
  report.skipped |= !finite;
  ONWARD_RETURN_IF_ERROR(JudgeAnomaly(report.skipped));
  if (report.skipped) progress_.averaged = averaged;
  if (scales) {
    if (report.skipped && !ScalerHandles()) WarnOfLeastScale();
    report.loss_scale = progress_.loss_scale;
    NoteGradients(!report.skipped);
  }
  report.step = ++progress_.step;
  ONWARD_RETURN_IF_ERROR(ReadWeights(report));
  report.seconds = Now() - begin;
  return report;
}

}  // namespace onward
