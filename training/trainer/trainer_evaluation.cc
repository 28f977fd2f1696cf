// The evaluations of a trainer: when one is due, which one is the best, when patience ends.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/metrics/metrics.h"
#include "training/trainer/training_loop.h"

namespace onward::training {
// One that is interrupted stays due: a training that resumes makes it first.
absl::Status TrainingLoop::EvaluateDue() {
  progress_.evaluation_due = 1;
  const absl::StatusOr<EvaluationReport> report = EvaluateNow();
  if (interrupted_ && absl::IsCancelled(report.status())) {
    stop_ = true;
    return absl::OkStatus();
  }
  if (!report.ok()) return report.status();
  progress_.evaluation_due.reset();
  Count("training/evaluations");
  metric_ = ValueOf(config_.evaluation().metric(), report->evaluation);
  is_best_ = report->best;
  if (is_best_) KeepBest();
  return absl::OkStatus();
}

absl::StatusOr<Evaluation> TrainingLoop::EvaluateAlone() {
  if (evaluation_loader_ == nullptr)
    return absl::FailedPreconditionError("the config has no evaluation");
  ONWARD_RETURN_IF_ERROR(UpdateAverageStatistics());
  const size_t phase = HasAverage() ? *phases_.evaluate_average : phases_.evaluate;
  absl::StatusOr<Evaluation> evaluation = onward::training::Evaluate(
      *evaluation_loader_, config_.evaluation(), config_.loss(),
      {session_->data_inputs(phase), session_->outputs(phase),
       [&](const Session::Inputs& inputs, TrainingSession::Outputs& outputs) -> absl::Status {
         interrupted_ |= options_.interrupted != nullptr && options_.interrupted();
         if (interrupted_) return absl::CancelledError("interrupted");
         return session_->Step(inputs, outputs, phase);
       }},
      options_.metrics);
  evaluation_loader_->Rest();
  if (evaluation.ok() && !evaluation->not_finite.empty())
    Warn(absl::StrCat("evaluation.data: the data are not finite, ", evaluation->not_finite));
  return evaluation;
}

bool TrainingLoop::OutOfPatience() const {
  const EvaluationConfig& evaluation = config_.evaluation();
  return evaluation.has_patience() && progress_.without_progress >= evaluation.patience();
}

absl::StatusOr<EvaluationReport> TrainingLoop::EvaluateNow() {
  EvaluationReport report;
  absl::StatusOr<Evaluation> evaluation = Evaluate();
  if (!evaluation.ok())
    return Annotate(evaluation.status(),
                    absl::StrCat("the evaluation after step ", progress_.step, ":"));
  report.evaluation = *std::move(evaluation);
  report.step = progress_.step;
  report.epoch = loader_->position().epoch;
  const std::string& name = config_.evaluation().metric();
  const bool maximize = LargestIsBest(config_.evaluation());
  const std::optional<double> value = ValueOf(name, report.evaluation);
  if (!value)
    return absl::InvalidArgumentError(absl::StrCat(
        "evaluation.metric: ", name,
        " is undefined for these targets: none counts (ignore_index of the loss leaves all out), "
        "or all are equal"));
  const double metric = *value;
  // NaN is never the best.
  report.best =
      !std::isnan(metric) &&
      (!progress_.best || (maximize ? metric > *progress_.best : metric < *progress_.best));
  if (report.best) {
    progress_.best = metric;
    progress_.best_step = progress_.step;
  }
  progress_.without_progress = report.best ? 0 : progress_.without_progress + 1;
  stop_ |= OutOfPatience();
  rates_->NotePlateaus(metric, maximize);
  if (options_.on_evaluation != nullptr) options_.on_evaluation(report);
  return report;
}

}  // namespace onward::training
