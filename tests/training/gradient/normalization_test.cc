// The gradient of LRN over windows of many channels, whose sums are differences of running sums;
// small windows are in cases/normalization.txt.
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/training/gradient/gradient_checks.h"

namespace onward::training {
namespace {

void CheckWindow(int64_t size, int64_t channels, double alpha) {
  SCOPED_TRACE(absl::StrCat(size, " of ", channels, " channels"));
  CheckGradients(absl::StrCat("m (double[2,c,3] x) => (double[2,c,3] y) {\n y = LRN <size = ", size,
                              ", alpha = ", alpha, ", bias = 1.5> (x)\n}"),
                 {{"x", Value(RandomDoubles({2, channels, 3}, 5))}}, false);
}

TEST(LrnGradient, OfWindowsOfManyChannels) {
  CheckWindow(33, 70, 2.5);
  CheckWindow(40, 5, 2.5);
  CheckWindow(41, 40, 2.5);
}

// A sum of a slice for each channel of the window would take all memory.
TEST(LrnGradient, OfTheLargestWindow) { CheckWindow(std::numeric_limits<int64_t>::max(), 4, 1e18); }

}  // namespace
}  // namespace onward::training
