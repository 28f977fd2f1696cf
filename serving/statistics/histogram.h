// Counts of durations between fixed borders.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace onward::serving {

class DurationHistogram {
 public:
  // Upper borders in nanoseconds, inclusive; what is longer is counted in `count` alone.
  static constexpr std::array<int64_t, 18> kBorders = {
      50'000,      100'000,       250'000,       500'000,       1'000'000,      2'500'000,
      5'000'000,   10'000'000,    25'000'000,    50'000'000,    100'000'000,    250'000'000,
      500'000'000, 1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000, 30'000'000'000};

  void Add(int64_t nanoseconds) {
    ++count_;
    sum_ += nanoseconds;
    for (size_t i = 0; i < kBorders.size(); ++i) {
      if (nanoseconds > kBorders[i]) continue;
      ++buckets_[i];
      return;
    }
  }

  int64_t count() const { return count_; }
  int64_t sum() const { return sum_; }  // nanoseconds
  // Durations up to kBorders[i] and above the border before.
  int64_t bucket(size_t i) const { return buckets_[i]; }

 private:
  int64_t count_ = 0, sum_ = 0;
  std::array<int64_t, kBorders.size()> buckets_ = {};
};

}  // namespace onward::serving
