// Copies a tensor through one table of positions per axis: the engine of Pad and of Resize's
// nearest mode.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/elements.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// sources[i][o] is the position along axis i of the input that position o of the output reads, or
// -1 for the fill value. The axes after the first `rank` keep their size and are one block; the
// last mapped axis makes rows of blocks.
struct MappedCopy {
  int64_t rank = 0;
  const int64_t* in_strides = nullptr;  // elements
  const int64_t* out_dims = nullptr;
  const int64_t* const* sources = nullptr;
  int64_t block = 1;               // elements
  int64_t rows = 0;                // over the mapped axes but the last
  int64_t run_begin = 0, run = 0;  // blocks of a row that follow each other in the input too
};

template <typename T>
void CopyMappedBlocks(const MappedCopy& copy, int64_t begin, int64_t end, const T* in,
                      const T& fill, T* out) {
  const int64_t* sources = copy.sources[copy.rank - 1];
  if (copy.block == 1) {
    for (int64_t o = begin; o < end; ++o) out[o] = sources[o] < 0 ? fill : in[sources[o]];
    return;
  }
  for (int64_t o = begin; o < end; ++o) {
    T* to = out + o * copy.block;
    if (sources[o] < 0) {
      std::fill_n(to, copy.block, fill);
    } else {
      CopyRun(in + sources[o] * copy.block, copy.block, to);
    }
  }
}

// The input's row that row `row` of the output is made of; null: of the fill value alone.
template <typename T>
const T* MappedRow(const MappedCopy& copy, int64_t row, const T* in) {
  for (int64_t i = copy.rank - 1; i-- > 0; row /= copy.out_dims[i]) {
    const int64_t source = copy.sources[i][row % copy.out_dims[i]];
    if (source < 0) return nullptr;
    in += source * copy.in_strides[i];
  }
  return in;
}

template <typename T>
void CopyMappedRow(const MappedCopy& copy, const T* in, const T& fill, T* out) {
  const int64_t last = copy.rank - 1, count = copy.out_dims[last];
  if (in == nullptr) return static_cast<void>(std::fill_n(out, count * copy.block, fill));
  CopyMappedBlocks(copy, 0, copy.run_begin, in, fill, out);
  if (copy.run > 0) {
    CopyRun(in + copy.sources[last][copy.run_begin] * copy.block, copy.run * copy.block,
            out + copy.run_begin * copy.block);
  }
  CopyMappedBlocks(copy, copy.run_begin + copy.run, count, in, fill, out);
}

template <typename T>
void RunMappedCopy(const RunContext& context, const MappedCopy& copy, const T* in, const T& fill,
                   T* out) {
  if (copy.rank == 0) {
    if (copy.rows > 0) CopyRun(in, copy.block, out);
    return;
  }
  const int64_t row = copy.block * copy.out_dims[copy.rank - 1];
  const int64_t grain = std::max<int64_t>(1, CopyGrain<T>() / std::max<int64_t>(1, row));
  context.ParallelFor(copy.rows, grain, [&](int64_t begin, int64_t end) {
    const T* before = nullptr;
    for (int64_t r = begin; r < end; ++r) {
      const T* from = MappedRow(copy, r, in);
      // Rows that repeat (an image enlarged by a whole number) are copied from the output.
      if (from != nullptr && from == before) {
        CopyRun(out + (r - 1) * row, row, out + r * row);
      } else {
        CopyMappedRow(copy, from, fill, out + r * row);
      }
      before = from;
    }
  });
}

}  // namespace onward::kernels::cpu
