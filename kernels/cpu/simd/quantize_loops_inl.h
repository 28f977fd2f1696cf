#pragma once

#include "kernels/cpu/simd/quantize_loops.h"
#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

inline void RangeOf(const float* x, int64_t count, float* low, float* high) {
  // Select leaves out NaN, which compares false.
  Vec least = {}, greatest = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec v = Load(x + i);
    least = Select(v < least, v, least);
    greatest = Select(v > greatest, v, greatest);
  }
  const int left = static_cast<int>(count - i);
  if (left > 0) {
    const Vec v = LoadN(x + i, left);
    least = Select(v < least, v, least);
    greatest = Select(v > greatest, v, greatest);
  }
  *low = FoldLanes(least, [](Vec a, Vec b) ONWARD_LAMBDA_INLINE { return Min(a, b); });
  *high = FoldLanes(greatest, [](Vec a, Vec b) ONWARD_LAMBDA_INLINE { return Max(a, b); });
}

constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer

// A piece at a time, so that the compiler's loops over it need no remainder.
template <int kCount>
ONWARD_INLINE void QuantizePiece(const float* x, float scale, float zero, float low, float high,
                                 uint8_t* y) {
  const int32_t offset = static_cast<int32_t>(zero);
  const float least = low - zero, most = high - zero;
  for (int i = 0; i < kCount; ++i) {
    float q = x[i] / scale;
    q = q > least ? q : least;
    q = q < most ? q : most;
    y[i] = static_cast<uint8_t>(static_cast<int32_t>((q + kRound) - kRound) + offset);
  }
}

inline void Quantize(const float* x, int64_t count, float scale, float zero, float low, float high,
                     uint8_t* y) {
  int64_t i = 0;
  for (; i + 64 <= count; i += 64) QuantizePiece<64>(x + i, scale, zero, low, high, y + i);
  for (; i < count; ++i) QuantizePiece<1>(x + i, scale, zero, low, high, y + i);
}

template <typename T>
void Dequantize(const T* x, int64_t count, float scale, float zero, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = (static_cast<float>(x[i]) - zero) * scale;
}

template <bool kSum, int kCount, int kAStep, int kBStep, typename T>
ONWARD_INLINE void PairPiece(const T* a, const T* b, const QuantizedPair& p, uint8_t* y) {
  const int32_t offset = static_cast<int32_t>(p.zero);
  const float least = p.low - p.zero, most = p.high - p.zero;
  for (int i = 0; i < kCount; ++i) {
    const int32_t left = a[i * kAStep] - p.a_zero, right = b[i * kBStep] - p.b_zero;
    float q = kSum ? static_cast<float>(left) * p.a_ratio + static_cast<float>(right) * p.b_ratio
                   : static_cast<float>(left * right) * p.a_ratio;
    q = q > least ? q : least;
    q = q < most ? q : most;
    y[i] = static_cast<uint8_t>(static_cast<int32_t>((q + kRound) - kRound) + offset);
  }
}

template <bool kSum, int kAStep, int kBStep, typename T>
void PairPieces(const T* a, const T* b, int64_t count, const QuantizedPair& p, uint8_t* y) {
  int64_t i = 0;
  for (; i + 64 <= count; i += 64)
    PairPiece<kSum, 64, kAStep, kBStep>(a + i * kAStep, b + i * kBStep, p, y + i);
  for (; i < count; ++i)
    PairPiece<kSum, 1, kAStep, kBStep>(a + i * kAStep, b + i * kBStep, p, y + i);
}

template <bool kSum, typename T>
void Pairs(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t count,
           const QuantizedPair& p, uint8_t* y) {
  if (a_step == 0) return PairPieces<kSum, 0, 1>(a, b, b_step == 0 ? 1 : count, p, y);
  if (b_step == 0) return PairPieces<kSum, 1, 0>(a, b, count, p, y);
  PairPieces<kSum, 1, 1>(a, b, count, p, y);
}

const QuantizeLoops& Quantization() {
  static constexpr QuantizeLoops kLoops = {
      RangeOf,
      Quantize,
      Dequantize<uint8_t>,
      Dequantize<int8_t>,
      Pairs<true, uint8_t>,
      Pairs<false, uint8_t>,
      Pairs<true, int8_t>,
      Pairs<false, int8_t>,
  };
  return kLoops;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
