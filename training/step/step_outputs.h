// The outputs of a run of a training phase.
#pragma once

#include <string>
#include <vector>

#include "onward/training_report.h"
#include "training/step/phase.h"
#include "training/step/training_session.h"

namespace onward::training {

double Now();  // seconds of a steady clock

// A float32 scalar among the outputs.
double NumberAt(const TrainingSession::Outputs& outputs, size_t position);

// `at`: where the phase has its outputs.
double LossOf(const StepOutputs& at, const TrainingSession::Outputs& outputs);

// Returns whether the gradients are, as far as the phase looks at them.
bool GradientsFinite(const StepOutputs& at, const TrainingSession::Outputs& outputs);

// The loss of a step's batches, which add up: over the targets of all of them, or their sum where
// the config says so.
class LossMean {
 public:
  void Add(const StepOutputs& at, const TrainingSession::Outputs& outputs);
  double value() const { return counted_ ? sum_ / count_ : sum_; }
  std::vector<double> losses() const;  // of which it is the sum, where there are several

 private:
  double sum_ = 0, count_ = 0;
  std::vector<double> sums_;  // of each loss
  bool counted_ = false;
};

// Norms and values of the gradients of `parameters`, where the phase has them.
void ReadGradients(const StepOutputs& at, const TrainingSession::Outputs& outputs,
                   const std::vector<std::string>& parameters, StepReport& report);

}  // namespace onward::training
