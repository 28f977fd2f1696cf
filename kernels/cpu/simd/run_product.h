// A tile of products whose rows are runs of elements, one after another or apart, as those of a
// window over an image with its channels last. Vectors are packed as panels
// [run][unit][tile_cols], a unit being 4 bytes of elements that follow each other in a run.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/fetch_ahead.h"

namespace onward::kernels::cpu {

struct RunProduct {
  const void* const* rows = nullptr;  // where each row of the tile begins
  int num_rows = 0;
  const int64_t* runs = nullptr;  // bytes from there to each run
  int64_t num_runs = 1;
  int64_t units = 0;  // of a run
  const void* panel = nullptr;
  FetchAhead<char> fetch = {};  // by units of all runs
};

// Sizes of a tile and of a unit.
struct RunTileSizes {
  int tile_rows;
  int tile_cols;
  int unit;  // elements
  int element_bytes;
};

}  // namespace onward::kernels::cpu
