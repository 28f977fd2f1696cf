#include "executors/plan/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "onward/tensor.h"

namespace onward::executors {
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

TEST(PlanArena, HundredThousandsOfBuffersTakeNoTime) {
  std::mt19937 random(1);
  constexpr int32_t kSteps = 200000;
  std::vector<Lifetime> lifetimes;
  for (int32_t step = 0; step < kSteps; ++step) {
    const int32_t length = step % 1000 == 0 ? kSteps : static_cast<int32_t>(random() % 6);
    lifetimes.push_back(
        {static_cast<int64_t>(1 + random() % 4096), step, std::min(kSteps - 1, step + length)});
  }
  const ArenaPlan plan = PlanArena(lifetimes);
  // What is live at a time, by offset: each begins where the one before has ended, or later.
  std::vector<std::vector<size_t>> live(kSteps / 100);
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    for (int32_t step = (lifetimes[i].first + 99) / 100 * 100; step <= lifetimes[i].last;
         step += 100)
      live[static_cast<size_t>(step / 100)].push_back(i);
  }
  int64_t peak = 0;
  for (std::vector<size_t>& now : live) {
    std::sort(now.begin(), now.end(),
              [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; });
    int64_t end = 0, bytes = 0;
    for (size_t i : now) {
      ASSERT_GE(plan.offsets[i], end);
      end = plan.offsets[i] + lifetimes[i].bytes;
      bytes += lifetimes[i].bytes;
    }
    ASSERT_LE(end, plan.bytes);
    peak = std::max(peak, bytes);
  }
  EXPECT_LT(static_cast<double>(plan.bytes), 1.5 * static_cast<double>(peak));
}

TEST(PlanArena, NothingNeedsNothing) { EXPECT_EQ(PlanArena({}).bytes, 0); }

}  // namespace
}  // namespace onward::executors
