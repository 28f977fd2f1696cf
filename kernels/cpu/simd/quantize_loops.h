// Loops between float32 and 8-bit integers, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// y = (a - a_zero) * a_ratio + (b - b_zero) * b_ratio of a sum, (a - a_zero) * (b - b_zero) *
// a_ratio of a product, rounded half to even, + zero, saturated to [low, high]. Ratios are scales
// over y's.
struct QuantizedPair {
  int32_t a_zero = 0, b_zero = 0;
  float a_ratio = 1, b_ratio = 1;
  float zero = 0, low = 0, high = 0;
};

// `a_step`, `b_step`: 1, or 0 for one element.
template <typename T>
using QuantizedPairLoop = void (*)(const T* a, int64_t a_step, const T* b, int64_t b_step,
                                   int64_t count, const QuantizedPair&, uint8_t* y);

struct QuantizeLoops {
  // The least and the greatest of 0 and x; NaN is left out.
  void (*range)(const float* x, int64_t count, float* low, float* high);
  // y = x / scale rounded half to even, + zero, saturated to [low, high]; NaN gives low.
  void (*quantize)(const float* x, int64_t count, float scale, float zero, float low, float high,
                   uint8_t* y);
  // y = (x - zero) * scale
  void (*dequantize_uint8)(const uint8_t* x, int64_t count, float scale, float zero, float* y);
  void (*dequantize_int8)(const int8_t* x, int64_t count, float scale, float zero, float* y);
  // y = table[x]; may be in place.
  void (*map)(const uint8_t* x, int64_t count, const uint8_t* table, uint8_t* y);
  QuantizedPairLoop<uint8_t> add_uint8, mul_uint8;
  QuantizedPairLoop<int8_t> add_int8, mul_int8;
};

ONWARD_PER_TARGET(kVectorLoops, const QuantizeLoops&, Quantization, ())

}  // namespace onward::kernels::cpu
