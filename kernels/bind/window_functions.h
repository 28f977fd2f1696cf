// HannWindow, HammingWindow and BlackmanWindow, whose size lies on the host.
#pragma once

#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/functor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// w(n) = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)
struct WindowCosines {
  double a0, a1, a2;
};

inline constexpr WindowCosines kHann = {0.5, 0.5, 0};
inline constexpr WindowCosines kHamming = {25.0 / 46.0, 1 - 25.0 / 46.0, 0};
inline constexpr WindowCosines kBlackman = {0.42, 0.5, 0.08};

// Element n. A symmetric window of one element has period 0.
ONWARD_HOST_DEVICE inline double WindowElement(const WindowCosines& cosines, int64_t n,
                                               int64_t period) {
  if (period == 0) return 1;
  constexpr double kTurn = 2 * 3.14159265358979323846;
  const double angle = kTurn * static_cast<double>(n) / static_cast<double>(period);
  return cosines.a0 - cosines.a1 * std::cos(angle) + cosines.a2 * std::cos(2 * angle);
}

// Settles output 0, [size]; defers the node where the size is not known yet.
absl::Status BindWindow(BindContext& context);

// Tables computed from scalars have at most so many elements: far above any use, far below an
// overflow.
inline constexpr int64_t kMostTableElements = int64_t{1} << 32;

}  // namespace onward::kernels
