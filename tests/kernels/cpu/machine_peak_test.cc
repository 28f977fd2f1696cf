#include "kernels/cpu/machine_peak.h"

#include <gtest/gtest.h>

namespace onward::kernels::cpu {
namespace {

// A clock that adds 10 us to every call; one time takes `per_time` seconds.
TEST(MachinePeak, AnInterruptedFirstRoundDoesNotFixTheLength) {
  constexpr double kPerTime = 1e-7, kOverhead = 1e-5;
  int calls = 0;
  const double least = LeastSeconds(16, 1.5e-3, [&](int64_t times) {
    const double other_work = calls++ % 2 == 0 ? 8e-3 : 0;
    return kOverhead + kPerTime * static_cast<double>(times) + other_work;
  });
  EXPECT_GE(least, kPerTime);
  EXPECT_LE(least, 1.02 * kPerTime);
}

}  // namespace
}  // namespace onward::kernels::cpu
