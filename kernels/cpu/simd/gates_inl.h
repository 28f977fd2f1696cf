#pragma once

#include "kernels/cpu/simd/gates.h"
#include "kernels/cpu/simd/math_inl.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

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

inline void RnnReluGates(const GateBlock& b) {
  ForEachUnits(b, [&](const float* sums, int64_t at, int64_t)
                      ONWARD_LAMBDA_INLINE { Store(b.h_next + at, Max(Vec{}, Load(sums))); });
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

// Calls f(first unit, lanes) for every vector of units.
template <typename F>
ONWARD_INLINE void ForEachLanes(int64_t units, F&& f) {
  for (int64_t i = 0; i < units; i += kLanes)
    f(i, units - i < kLanes ? static_cast<int>(units - i) : kLanes);
}

inline void LstmCells(const float* gates, int64_t gate, const float* c, int64_t units,
                      float* next) {
  ForEachLanes(units, [&](int64_t i, int n) ONWARD_LAMBDA_INLINE {
    const Vec input = Sigmoid(LoadLanes(gates + i, n));
    const Vec forget = Sigmoid(LoadLanes(gates + 2 * gate + i, n));
    const Vec candidate = Tanh(LoadLanes(gates + 3 * gate + i, n));
    StoreLanes(next + i, forget * LoadLanes(c + i, n) + input * candidate, n);
  });
}

inline void LstmGradient(const LstmGradientRow& row) {
  ForEachLanes(row.units, [&](int64_t i, int n) ONWARD_LAMBDA_INLINE {
    const float* gates = row.gates + i;
    const Vec input = Sigmoid(LoadLanes(gates, n));
    const Vec output = Sigmoid(LoadLanes(gates + row.gate, n));
    const Vec forget = Sigmoid(LoadLanes(gates + 2 * row.gate, n));
    const Vec candidate = Tanh(LoadLanes(gates + 3 * row.gate, n));
    const Vec c = LoadLanes(row.c + i, n);
    const Vec squashed = Tanh(forget * c + input * candidate);
    Vec dh = LoadLanes(row.dh + i, n);
    if (row.dy != nullptr) dh += LoadLanes(row.dy + i, n);
    const Vec dc = LoadLanes(row.dc + i, n) + dh * output * (1.0f - squashed * squashed);
    StoreLanes(row.dc + i, dc * forget, n);
    float* to = row.dgates + i;
    StoreLanes(to, dc * candidate * input * (1.0f - input), n);
    StoreLanes(to + row.gate, dh * squashed * output * (1.0f - output), n);
    StoreLanes(to + 2 * row.gate, dc * c * forget * (1.0f - forget), n);
    StoreLanes(to + 3 * row.gate, dc * input * (1.0f - candidate * candidate), n);
  });
}

const GateKernels& Gates() {
  static constexpr GateKernels kKernels = {RnnGates,       RnnReluGates,  LstmGates,
                                           GruLinearGates, GruResetGates, GruCandidateGates,
                                           LstmCells,      LstmGradient};
  return kKernels;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
