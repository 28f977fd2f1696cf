// A line search for the strong Wolfe conditions, with PyTorch's numbers (torch.optim.LBFGS): a
// bracket is found by cubic extrapolation and narrowed by cubic interpolation (Nocedal and Wright
// 2006, algorithms 3.5 and 3.6).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/counted_allocator.h"

namespace onward::training {

// Elements of all parameters in a row.
using CountedRow = std::vector<double, CountedAllocator<double>>;

// A function along a direction, `t` directions away from where the search starts.
struct LinePoint {
  double t = 0, loss = 0;
  double slope = 0;  // the gradient's product with the direction
  CountedRow gradient;
};
using LineFunction = std::function<absl::StatusOr<LinePoint>(double t)>;

struct WolfeOptions {
  double sufficient_decrease = 1e-4, curvature = 0.9;
  double tolerance_change = 1e-9;  // of the position, by which a bracket is too small
  double longest = 1;              // the largest element of the direction, without its sign
  int64_t max_evaluations = 25;    // after the first
};

// The best point that was seen, from `start` (t = 0, its slope is negative) on; `t` is tried first.
absl::StatusOr<LinePoint> StrongWolfe(const LineFunction& at, const LinePoint& start, double t,
                                      const WolfeOptions& options);

}  // namespace onward::training
