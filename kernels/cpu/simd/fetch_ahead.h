// Memory that later tiles of a product read, brought into the cache while this one multiplies.
// Weights that many tiles share otherwise come at the pace of the third cache while the first of
// them waits.
#pragma once

#include <cstdint>

namespace onward::kernels::cpu {

template <typename T>
struct FetchAhead {
  const T* from = nullptr;  // null: nothing
  int64_t step = 0;         // elements for each step of the tile

  // Takes, over `steps` steps, part `part` of `parts` of the `count` elements at `memory`: one of
  // each tile that reads the same operand. One tile alone leaves it to the processor, which follows
  // what is read in order.
  void TakePart(const T* memory, int64_t count, int64_t part, int64_t parts, int64_t steps) {
    *this = {};
    if (memory == nullptr || parts == 1 || steps == 0) return;
    step = (count + parts * steps - 1) / (parts * steps);
    from = memory + part * step * steps;
  }
};

}  // namespace onward::kernels::cpu
