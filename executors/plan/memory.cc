#include "executors/plan/memory.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "onward/tensor.h"

namespace onward::executors {
namespace {

struct Placed {
  int64_t begin;
  int64_t end;
  int32_t first;
  int32_t last;
};

// The lowest offset at which `bytes` fit between the placed buffers that live at the same time.
// `placed` is sorted by begin.
int64_t LowestGap(const std::vector<Placed>& placed, const Lifetime& wanted, int64_t bytes) {
  int64_t offset = 0;
  for (const Placed& other : placed) {
    if (other.last < wanted.first || other.first > wanted.last) continue;
    if (other.begin - offset >= bytes) break;
    offset = std::max(offset, other.end);
  }
  return offset;
}

// Above this, the time that the greedy plan takes with the square of the number is too long.
constexpr size_t kMostGreedy = 8192;

// Free ranges below a growing end, by offset and by size.
class FreeRanges {
 public:
  int64_t end() const { return end_; }

  // The smallest range that fits, else at the end.
  int64_t Take(int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      end_ += bytes;
      return end_ - bytes;
    }
    const auto [size, offset] = *fit;
    Erase(offset, size);
    if (size > bytes) Insert(offset + bytes, size - bytes);
    return offset;
  }

  void GiveBack(int64_t offset, int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      Erase(next->first, next->second);
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        Erase(before, size);
        offset = before;
        bytes += size;
      }
    }
    Insert(offset, bytes);
  }

 private:
  void Insert(int64_t offset, int64_t bytes) {
    by_offset_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  void Erase(int64_t offset, int64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  int64_t end_ = 0;
  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
};

int64_t Rounded(int64_t bytes) {
  constexpr auto kAlign = static_cast<int64_t>(kTensorAlignment);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// In the order of time, best fit: nearly linear.
ArenaPlan PlanInOrder(absl::Span<const Lifetime> lifetimes) {
  std::vector<int32_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return lifetimes[static_cast<size_t>(a)].first < lifetimes[static_cast<size_t>(b)].first;
  });
  ArenaPlan plan;
  plan.offsets.resize(lifetimes.size(), 0);
  FreeRanges ranges;
  std::set<std::pair<int32_t, int32_t>> live;  // last step, index
  for (int32_t index : order) {
    const Lifetime& wanted = lifetimes[static_cast<size_t>(index)];
    while (!live.empty() && live.begin()->first < wanted.first) {
      const auto over = static_cast<size_t>(live.begin()->second);
      ranges.GiveBack(plan.offsets[over], Rounded(lifetimes[over].bytes));
      live.erase(live.begin());
    }
    if (wanted.bytes == 0) continue;
    plan.offsets[static_cast<size_t>(index)] = ranges.Take(Rounded(wanted.bytes));
    live.insert({wanted.last, index});
  }
  plan.bytes = ranges.end();
  return plan;
}

}  // namespace

ArenaPlan PlanArena(absl::Span<const Lifetime> lifetimes) {
  if (lifetimes.size() > kMostGreedy) return PlanInOrder(lifetimes);
  std::vector<int32_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int64_t x = lifetimes[static_cast<size_t>(a)].bytes,
                  y = lifetimes[static_cast<size_t>(b)].bytes;
    return x != y ? x > y : a < b;
  });
  ArenaPlan plan;
  plan.offsets.resize(lifetimes.size(), 0);
  std::vector<Placed> placed;
  placed.reserve(lifetimes.size());
  for (int32_t index : order) {
    const Lifetime& wanted = lifetimes[static_cast<size_t>(index)];
    if (wanted.bytes == 0) continue;
    const int64_t bytes = Rounded(wanted.bytes);
    const int64_t offset = LowestGap(placed, wanted, bytes);
    plan.offsets[static_cast<size_t>(index)] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
    const Placed entry{offset, offset + bytes, wanted.first, wanted.last};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
        entry);
  }
  return plan;
}

}  // namespace onward::executors
