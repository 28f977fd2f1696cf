// What a step of a training did.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onward/tensor.h"

namespace onward {

struct StepReport {
  int64_t step = 0;  // from 1 on
  int64_t epoch = 0;
  double loss = 0;                               // mean over the targets of all accumulated batches
  double rate = 0;                               // of the default group
  std::vector<double> rates;                     // of all, in the config's order, the default last
  std::optional<double> gradient_norm;           // of all together, before it is bounded
  std::map<std::string, double> gradient_norms;  // by parameter, where log.gradient_norms asks
  std::optional<double> loss_scale;              // of the step, where the loss is scaled
  bool skipped = false;       // the loss was not finite, or a gradient of a scaled one
  int64_t skipped_steps = 0;  // since the training began, this one included
  // By parameter, each log.histogram_steps: gradients before they are bounded, weights after.
  std::map<std::string, Tensor> gradients, weights;
  int64_t broken_examples = 0;  // left out so far, where data.skip_broken says so
  int64_t examples = 0;
  double seconds = 0;       // of the step with its data
  double data_seconds = 0;  // of those, waiting for data
};

}  // namespace onward
