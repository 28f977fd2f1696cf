// What a run of a training phase says.
#pragma once

#include "onward/session.h"
#include "onward/training_report.h"

namespace onward::training {

double Now();  // seconds of a steady clock

double LossOf(const Session::Outputs& outputs);

// Whether the gradients are, as far as the phase looks at them.
bool GradientsFinite(const Session::Outputs& outputs);

// The loss of a step's batches, which add up: over the targets of all of them, or their sum where
// the config says so.
class LossMean {
 public:
  void Add(const Session::Outputs& outputs);
  double value() const { return counted_ ? sum_ / count_ : sum_; }

 private:
  double sum_ = 0, count_ = 0;
  bool counted_ = false;
};

// Norms and values of gradients, where the phase has them.
void ReadGradients(const Session::Outputs& outputs, StepReport& report);

}  // namespace onward::training
