#include "training/step/step_outputs.h"

#include <chrono>

namespace onward::training {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double NumberAt(const TrainingSession::Outputs& outputs, size_t position) {
  return static_cast<double>(outputs[position].tensor().data<float>()[0]);
}

double LossOf(const StepOutputs& at, const TrainingSession::Outputs& outputs) {
  return NumberAt(outputs, *at.loss);
}

bool GradientsFinite(const StepOutputs& at, const TrainingSession::Outputs& outputs) {
  return !at.gradients_finite || outputs[*at.gradients_finite].tensor().data<bool>()[0];
}

void LossMean::Add(const StepOutputs& at, const TrainingSession::Outputs& outputs) {
  sum_ += LossOf(at, outputs);
  sums_.resize(at.losses.size());
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += NumberAt(outputs, at.losses[i]);
  if (!at.count) return;
  counted_ = true;
  count_ += outputs[*at.count].tensor().data<double>()[0];
}

std::vector<double> LossMean::losses() const {
  std::vector<double> losses = sums_;
  for (double& each : losses) each /= counted_ ? count_ : 1;
  return losses;
}

void ReadGradients(const StepOutputs& at, const TrainingSession::Outputs& outputs,
                   const std::vector<std::string>& parameters, StepReport& report) {
  if (at.gradient_norm) report.gradient_norm = NumberAt(outputs, *at.gradient_norm);
  for (size_t i = 0; i < at.gradient_norms.size(); ++i)
    report.gradient_norms[parameters[i]] = NumberAt(outputs, at.gradient_norms[i]);
  for (size_t i = 0; i < at.gradient_values.size(); ++i)
    report.gradients[parameters[i]] = outputs[at.gradient_values[i]].tensor();
}

}  // namespace onward::training
