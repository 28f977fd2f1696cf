// Loops over images with their channels last, of bfloat16 in targets that multiply pairs of them
// and of float32 in the others.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

struct ChannelsLastLoops {
  int element_bytes;  // 2 or 4
  // to[p * to_row + c] of x[c * x_row + p], rounded, for c < channels; zero for an even number
  // of channels of bfloat16, where to_row has room.
  void (*to_last)(const float* x, int64_t x_row, int64_t channels, int64_t pixels, void* to,
                  int64_t to_row);
  // to[c * to_row + p] of x[p * x_row + c].
  void (*to_first)(const void* x, int64_t x_row, int64_t channels, int64_t pixels, float* to,
                   int64_t to_row);
  // y[i] = the greatest of x[t * step + i], t < taps, and, unless `first`, of y[i]; i < count.
  void (*greatest)(const void* x, int64_t step, int64_t taps, bool first, int64_t count, void* y);
  // y[p * step + i] = x[p * step + i] * factors[i] + terms[i], p < pixels, i < count; `terms` null:
  // zeros.
  void (*scale)(const void* x, int64_t step, int64_t pixels, const float* factors,
                const float* terms, int64_t count, void* y);
  // sums[i] = the sum of x[p * step + i], p < pixels; i < count.
  void (*add_pixels)(const void* x, int64_t step, int64_t pixels, int64_t count, float* sums);
  // Only of bfloat16: y[i] = x[i * x_step] + z[i * z_step]; the steps are 0 or 1.
  void (*sum)(const uint16_t* x, int64_t x_step, const uint16_t* z, int64_t z_step, uint16_t* y,
              int64_t count);
};

ONWARD_PER_TARGET(kVectorLoops | kBf16Loops, const ChannelsLastLoops&, LastLoops, ())

}  // namespace onward::kernels::cpu
