// The work of a trainer around each of its steps.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/step/average_weight.h"
#include "training/step/make_step.h"
#include "training/step/step_outputs.h"
#include "training/trainer/training_loop.h"

namespace onward::training {

int64_t TrainingLoop::steps_per_epoch() const {
  return (loader_->batches_per_epoch() + config_.accumulate() - 1) / config_.accumulate();
}

int64_t TrainingLoop::TotalSteps() const {
  return config_.has_steps() ? config_.steps() : config_.epochs() * steps_per_epoch();
}

absl::Status TrainingLoop::OpenSteps() {
  total_steps_ = TotalSteps();
  ONWARD_ASSIGN_OR_RETURN(rates_, Rates::Create(config_, phases_.groups, total_steps_,
                                                std::max<int64_t>(1, steps_per_epoch()), progress_,
                                                options_.rate_factor));
  if (rates_->late_warmup() > 0) {
    Warn(absl::StrCat("schedule.warmup: ", rates_->late_warmup(), " steps, the training has ",
                      total_steps_, ": it ends before the rate reaches lr"));
  }
  WarnOfLateAverage();
  std::function<bool()> interrupted;
  if (options_.interrupted != nullptr) interrupted = [this] { return Interrupted(); };
  ONWARD_ASSIGN_OR_RETURN(step_, MakeTrainingStep({config_, phases_, *session_, *loader_, progress_,
                                                   checks_, std::move(interrupted)}));
  return absl::OkStatus();
}

bool TrainingLoop::Interrupted() {
  if (!interrupted_ && options_.interrupted != nullptr)
    interrupted_ = AnyRank(options_.interrupted());
  return interrupted_;
}

// Reads the values for histograms, at the steps that have some.
absl::Status TrainingLoop::ReadWeights(StepReport& report) const {
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

absl::StatusOr<StepReport> TrainingLoop::MakeStep() {
  StepReport report;
  const double begin = Now();
  const int64_t averaged = progress_.averaged;
  ONWARD_RETURN_IF_ERROR(rates_->Set(*session_, report));
  ONWARD_RETURN_IF_ERROR(SetAverageWeight(config_, progress_, *session_));
  ONWARD_RETURN_IF_ERROR(scaler_.Set(*session_));
  report.epoch = loader_->position().epoch;
  // Masks of Dropout are a function of the batch's number, so that a resumed training draws them.
  session_->session().set_run_index(static_cast<uint64_t>(progress_.step * config_.accumulate()));
  ONWARD_ASSIGN_OR_RETURN(const bool finite, step_->Make(report));
  report.skipped = !finite;
  // Gradients alone overflow only where the loss is scaled, which does not end the training.
  const bool ends = !std::isfinite(report.loss) || (!finite && !scaler_.scales());
  if (ends && config_.non_finite() == TrainConfig::STOP && !scaler_.Handles()) {
    ONWARD_RETURN_IF_ERROR(checks_.Judge(report.skipped));
    return checks_.NonFiniteLoss(report.loss);
  }
  checks_.EndStep(report.skipped);
  ONWARD_RETURN_IF_ERROR(checks_.Judge(report.skipped));
  if (report.skipped) progress_.averaged = averaged;
  scaler_.EndStep(finite, report);
  report.step = ++progress_.step;
  ONWARD_RETURN_IF_ERROR(ReadWeights(report));
  report.seconds = Now() - begin;
  return report;
}

}  // namespace onward::training
