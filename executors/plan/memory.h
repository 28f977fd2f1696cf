// Places buffers in an arena: a pure function from lifetimes to offsets.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace onward::executors {

// A buffer that is needed from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
};

struct ArenaPlan {
  std::vector<int64_t> offsets;  // per lifetime, aligned to kTensorAlignment
  int64_t bytes = 0;             // size of the arena
};

// Greedy by decreasing size into the lowest gap that is free for the whole lifetime; thousands of
// buffers in the order of time instead, which packs less tightly. Buffers whose lifetimes meet
// never overlap; deterministic.
ArenaPlan PlanArena(absl::Span<const Lifetime> lifetimes);

}  // namespace onward::executors
