#include "executors/plan/memory.h"

#include <gtest/gtest.h>

#include <random>

#include "graph/base/tensor.h"

namespace onward {
namespace {

bool Meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

int64_t PeakOfLiveBytes(const std::vector<Lifetime>& lifetimes, int32_t steps) {
  int64_t peak = 0;
  for (int32_t step = 0; step < steps; ++step) {
    int64_t live = 0;
    for (const Lifetime& lifetime : lifetimes) {
      if (lifetime.first <= step && step <= lifetime.last) live += lifetime.bytes;
    }
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(PlanArena, NoTwoLiveBuffersOverlapAndLittleIsWasted) {
  double waste = 0;
  constexpr int kInstances = 300;
  for (int instance = 0; instance < kInstances; ++instance) {
    SCOPED_TRACE("seed " + std::to_string(instance));
    std::mt19937 random(static_cast<unsigned>(instance));
    const int32_t steps = 1 + static_cast<int32_t>(random() % 60);
    std::vector<Lifetime> lifetimes;
    for (unsigned i = 0; i < 1 + random() % 80; ++i) {
      const auto first = static_cast<int32_t>(random() % static_cast<unsigned>(steps));
      const auto length = static_cast<int32_t>(random() % 6);
      lifetimes.push_back(
          {static_cast<int64_t>(random() % 4096) * 64, first, std::min(steps - 1, first + length)});
    }
    const ArenaPlan plan = PlanArena(lifetimes);
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      ASSERT_EQ(plan.offsets[i] % static_cast<int64_t>(kTensorAlignment), 0);
      ASSERT_LE(plan.offsets[i] + lifetimes[i].bytes, plan.bytes);
      for (size_t j = 0; j < i; ++j) {
        if (!Meet(lifetimes[i], lifetimes[j]) || lifetimes[i].bytes == 0 || lifetimes[j].bytes == 0)
          continue;
        ASSERT_TRUE(plan.offsets[i] + lifetimes[i].bytes <= plan.offsets[j] ||
                    plan.offsets[j] + lifetimes[j].bytes <= plan.offsets[i])
            << i << " and " << j;
      }
    }
    const int64_t peak = PeakOfLiveBytes(lifetimes, steps);
    if (peak > 0) waste += static_cast<double>(plan.bytes) / static_cast<double>(peak);
  }
  EXPECT_LT(waste / kInstances, 1.15);
}

TEST(PlanArena, NothingNeedsNothing) { EXPECT_EQ(PlanArena({}).bytes, 0); }

}  // namespace
}  // namespace onward
