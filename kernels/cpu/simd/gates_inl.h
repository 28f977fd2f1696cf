#pragma once

#include "kernels/cpu/simd/gates.h"
#include "kernels/cpu/simd/math_inl.h"

namespace onward::cpu::ONWARD_TARGET {

// Calls cell(sums, state offset, x offset) for every vector of the block.
template <typename F>
ONWARD_INLINE void ForEachUnits(const GateBlock& b, F&& cell) {
  for (int row = 0; row < b.rows; ++row) {
    for (int unit = 0; unit < b.units; unit += kLanes)
      cell(b.sums + row * b.sums_row + unit, row * b.h_row + unit, row * b.x_row + unit);
  }
}

inline void RnnGates(const GateBlock& b) {
  ForEachUnits(b, [&](const float* sums, int64_t at, int64_t)
                      ONWARD_LAMBDA_INLINE { Store(b.h_next + at, Tanh(Load(sums))); });
}

inline void LstmGates(const GateBlock& b) {
  const int n = b.units;
  ForEachUnits(b, [&](const float* sums, int64_t at, int64_t) ONWARD_LAMBDA_INLINE {
    const Vec input = Sigmoid(Load(sums)), output = Sigmoid(Load(sums + n));
    const Vec forget = Sigmoid(Load(sums + 2 * n));
    const Vec c = forget * Load(b.c + at) + input * Tanh(Load(sums + 3 * n));
    Store(b.c + at, c);
    Store(b.h_next + at, output * Tanh(c));
  });
}

inline void GruLinearGates(const GateBlock& b) {
  const int n = b.units;
  ForEachUnits(b, [&](const float* sums, int64_t at, int64_t x) ONWARD_LAMBDA_INLINE {
    const Vec update = Sigmoid(Load(sums)), reset = Sigmoid(Load(sums + n));
    const Vec candidate = Tanh(Load(b.x + x) + reset * Load(sums + 2 * n));
    Store(b.h_next + at, (1.0f - update) * candidate + update * Load(b.h + at));
  });
}

inline void GruResetGates(const GateBlock& b) {
  const int n = b.units;
  ForEachUnits(b, [&](const float* sums, int64_t at, int64_t) ONWARD_LAMBDA_INLINE {
    Store(b.update + at, Sigmoid(Load(sums)));
    Store(b.h_next + at, Sigmoid(Load(sums + n)) * Load(b.h + at));
  });
}

inline void GruCandidateGates(const GateBlock& b) {
  ForEachUnits(b, [&](const float* sums, int64_t at, int64_t) ONWARD_LAMBDA_INLINE {
    const Vec update = Load(b.update + at);
    Store(b.h_next + at, (1.0f - update) * Tanh(Load(sums)) + update * Load(b.h + at));
  });
}

const GateKernels& Gates() {
  static constexpr GateKernels kKernels = {RnnGates, LstmGates, GruLinearGates, GruResetGates,
                                           GruCandidateGates};
  return kKernels;
}

}  // namespace onward::cpu::ONWARD_TARGET
