// Loops over images of bfloat16 with their channels last.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

struct ChannelsLastLoops {
  // to[p * to_row + c] of x[c * x_row + p], rounded, for c < channels; zero for an even number
  // of channels, where to_row has room.
  void (*to_last)(const float* x, int64_t x_row, int64_t channels, int64_t pixels, uint16_t* to,
                  int64_t to_row);
  // to[c * to_row + p] of x[p * x_row + c].
  void (*to_first)(const uint16_t* x, int64_t x_row, int64_t channels, int64_t pixels, float* to,
                   int64_t to_row);
  // y[i] = the greatest of x[t * step + i], t < taps, and, unless `first`, of y[i]; i < count.
  void (*greatest)(const uint16_t* x, int64_t step, int64_t taps, bool first, int64_t count,
                   uint16_t* y);
  // y[i] = x[i] * factors[i] + terms[i]; `terms` null: zeros.
  void (*scale)(const uint16_t* x, const float* factors, const float* terms, int64_t count,
                uint16_t* y);
  // y[i] = x[i * x_step] + z[i * z_step]; the steps are 0 or 1.
  void (*sum)(const uint16_t* x, int64_t x_step, const uint16_t* z, int64_t z_step, uint16_t* y,
              int64_t count);
  // sums[i] += x[i].
  void (*add)(const uint16_t* x, int64_t count, float* sums);
};

ONWARD_PER_TARGET(kBf16Loops, const ChannelsLastLoops&, LastLoops, ())

}  // namespace onward::kernels::cpu
