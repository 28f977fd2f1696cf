// Loops between float32 and 8-bit integers, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

struct QuantizeLoops {
  // The least and the greatest of 0 and x; NaN is left out.
  void (*range)(const float* x, int64_t count, float* low, float* high);
  // y = x / scale rounded half to even, + zero, saturated to [low, high]; NaN gives low.
  void (*quantize)(const float* x, int64_t count, float scale, float zero, float low, float high,
                   uint8_t* y);
  // y = (x - zero) * scale
  void (*dequantize_uint8)(const uint8_t* x, int64_t count, float scale, float zero, float* y);
  void (*dequantize_int8)(const int8_t* x, int64_t count, float scale, float zero, float* y);
};

ONWARD_PER_TARGET(kVectorLoops, const QuantizeLoops&, Quantization, ())

}  // namespace onward::kernels::cpu
