// One step of Trainer: its settings, its batches, what becomes of a loss that is not finite.
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "training/rewrite/accumulation.h"
#include "training/rewrite/loss_scale.h"
#include "training/step/step_outputs.h"
#include "training/trainer/trainer.h"

namespace onward {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double LossOf(const Session::Outputs& outputs) {
  return static_cast<double>(outputs.at("loss").tensor().data<float>()[0]);
}

void LossMean::Add(const Session::Outputs& outputs) {
  sum_ += LossOf(outputs);
  const auto count = outputs.find(kLossCount);
  if (count == outputs.end()) return;
  counted_ = true;
  count_ += count->second.tensor().data<double>()[0];
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

bool Trainer::SkipsSteps() const {
  return config_.non_finite() == TrainConfig::SKIP || ScalesLoss(config_);
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
  LossMean mean;
  const int64_t epoch = loader_->position().epoch;
  for (int64_t i = 0; TakesBatch(i, epoch); ++i) {
    if (i > 0 && Interrupted()) return absl::CancelledError("interrupted");
    const double waits = Now();
    ONWARD_ASSIGN_OR_RETURN(const Batch batch, loader_->Next());
    report.data_seconds += Now() - waits;
    report.examples += batch.begin()->second.dims()[0];
    ONWARD_ASSIGN_OR_RETURN(const Session::Inputs given,
                            InputsOf(session_->inputs(), batch, config_.data()));
    ONWARD_RETURN_IF_ERROR(RefuseNonFiniteData(batch));
    ONWARD_RETURN_IF_ERROR(NamePlace(AtStep(session_->Step(given, batch_outputs_, 0, accept)),
                                     batch, loader_->places()));
    NoteNonFiniteData(batch);
    mean.Add(batch_outputs_);
    ReadGradients(batch_outputs_, report);
    finite &= GradientsFinite(batch_outputs_);
  }
  report.loss = mean.value();
  return finite;
}

// A step has batches of one epoch alone: what is left at its end makes a smaller step.
bool Trainer::TakesBatch(int64_t taken, int64_t epoch) const {
  return taken == 0 || (taken < config_.accumulate() && loader_->position().epoch == epoch);
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
  ReportRates(report);
  const bool scales = ScalesLoss(config_);
  // Masks of Dropout are a function of the batch's number, so that a resumed training draws them.
  session_->session().set_run_index(static_cast<uint64_t>(progress_.step * config_.accumulate()));
  ONWARD_ASSIGN_OR_RETURN(bool finite, RunBatches(report));
  report.skipped = !std::isfinite(report.loss);
  if (report.skipped && config_.non_finite() == TrainConfig::STOP && !ScalerHandles()) {
    ONWARD_RETURN_IF_ERROR(JudgeAnomaly(report.skipped));
    return NonFiniteLoss(report.loss);
  }
  if (phases_.apply && report.skipped) {
    ONWARD_RETURN_IF_ERROR(ClearAccumulated(*session_));
  } else if (phases_.apply) {
    ONWARD_RETURN_IF_ERROR(
        AtStep(session_->Step({}, update_outputs_, *phases_.apply,
                              scales ? GradientsFinite : TrainingSession::Accept())));
    ReadGradients(update_outputs_, report);
    finite &= GradientsFinite(update_outputs_);
    if (!finite) ONWARD_RETURN_IF_ERROR(ClearAccumulated(*session_));
  }
  report.skipped |= !finite;
  WarnOfSkippedData(report.skipped);
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
