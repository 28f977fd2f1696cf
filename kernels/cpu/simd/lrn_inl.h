#pragma once

#include "kernels/cpu/simd/lrn.h"
#include "kernels/cpu/simd/pow_inl.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// n lanes of channel c.
ONWARD_INLINE Vec LrnLanes(const LrnChannels& channels, const float* x, int64_t c, int n) {
  const int64_t first = c < channels.before ? 0 : c - channels.before;
  const int64_t end =
      channels.count - c <= channels.after ? channels.count : c + channels.after + 1;
  Vec squares = {};
  for (int64_t k = first; k < end; ++k) {
    const Vec v = LoadLanes(x + k * channels.stride, n);
    squares = Fma(v, v, squares);
  }
  const Vec base = Fma(Set(channels.scale), squares, Set(channels.bias));
  return LoadLanes(x + c * channels.stride, n) / Pow(base, Set(channels.beta));
}

void NormalizeChannels(const LrnChannels& channels, const float* x, int64_t columns, float* y) {
  for (int64_t c = 0; c < channels.count; ++c) {
    float* row = y + c * channels.stride;
    int64_t i = 0;
    for (; i + kLanes <= columns; i += kLanes) Store(row + i, LrnLanes(channels, x + i, c, kLanes));
    const int left = static_cast<int>(columns - i);
    if (left > 0) StoreN(row + i, LrnLanes(channels, x + i, c, left), left);
  }
}

LrnLoop Lrn() { return NormalizeChannels; }

}  // namespace onward::kernels::cpu::ONWARD_TARGET
