// Rows of weights of 2, 4 or 8 bits with one scale per block, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// W [n, blocks * block]: codes packed in bytes, the first in the lowest bits.
struct NBitsMatrix {
  int bits = 4;
  int64_t block = 0;
  int64_t blocks = 0;
  const uint8_t* codes = nullptr;
  const float* scales = nullptr;  // [n, blocks]
  // Zero points: packed like the codes, [n, bytes]; floats, [n, blocks]; or `zero` for all.
  const uint8_t* packed_zeros = nullptr;
  const float* float_zeros = nullptr;
  float zero = 0;

  int64_t row_bytes() const { return blocks * block * bits / 8; }
  int64_t zero_bytes() const { return (blocks * bits + 7) / 8; }
};

struct NBitsKernels {
  int64_t step;
  // Puts x [blocks * block] in the order in which `dot` reads it, and sums its blocks. `arranged`
  // has room for the next multiple of `step` floats.
  void (*arrange)(const NBitsMatrix& w, const float* x, float* arranged, float* sums);
  // y[n - begin] = W[n] x for n in [begin, end).
  void (*dot)(const NBitsMatrix& w, const float* arranged, const float* sums, int64_t begin,
              int64_t end, float* y);
  // Blocks [first, last) of row n as floats.
  void (*dequantize)(const NBitsMatrix& w, int64_t n, int64_t first, int64_t last, float* to);
};

ONWARD_PER_TARGET(kVectorLoops, const NBitsKernels&, NBits, ())

}  // namespace onward::kernels::cpu
