// Shows the progress of a training on stderr.
#pragma once

#include <cstdint>

#include "onward/training.h"

namespace onward::cli {

// A line that is written over again on a terminal, now and then one in a file.
class TrainProgress {
 public:
  explicit TrainProgress(int64_t total);
  void Step(const StepReport& report);

 private:
  const int64_t total_;
  const bool terminal_;
  int64_t steps_ = 0, examples_ = 0;
  double mean_ = 0, seconds_ = 0, shown_ = -10;
};

}  // namespace onward::cli
