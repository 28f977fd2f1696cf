#include "executors/plan/memory.h"

#include <algorithm>
#include <numeric>

#include "graph/base/tensor.h"

namespace onward {
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

}  // namespace

ArenaPlan PlanArena(absl::Span<const Lifetime> lifetimes) {
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
  constexpr auto kAlign = static_cast<int64_t>(kTensorAlignment);
  for (int32_t index : order) {
    const Lifetime& wanted = lifetimes[static_cast<size_t>(index)];
    if (wanted.bytes == 0) continue;
    const int64_t bytes = (wanted.bytes + kAlign - 1) / kAlign * kAlign;
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

}  // namespace onward
