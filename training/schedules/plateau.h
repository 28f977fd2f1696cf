// The schedule that waits for a metric: PyTorch's ReduceLROnPlateau.
#pragma once

#include <cstdint>
#include <limits>

namespace onward::training {

struct PlateauOptions {
  bool maximize = false;  // the metric is better when it is larger
  double factor = 0.1;
  int64_t patience = 10;  // evaluations without progress that are let pass
  double threshold = 1e-4;
  bool relative = true;   // the threshold is a share of the best, else a difference
  int64_t cooldown = 0;   // evaluations after a reduction in which none is counted
  double least = 0;       // of the rate
  double epsilon = 1e-8;  // smaller changes of the rate are not made
};

// All of its state, to be saved with a checkpoint.
struct PlateauState {
  double rate = 0;
  double best = std::numeric_limits<double>::quiet_NaN();  // NaN: nothing was seen
  int64_t bad = 0;
  int64_t cooldown = 0;
};

// The state after an evaluation gave `metric`; NaN is not progress.
PlateauState NextPlateau(const PlateauOptions& options, PlateauState state, double metric);

}  // namespace onward::training
