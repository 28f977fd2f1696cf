// Loops over contiguous float32 elements, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/cpu_features.h"

namespace onward::kernels::cpu {

// The values of an op's scalar attributes.
struct LoopParameters {
  float values[2] = {};
};

// Processes `count` contiguous elements. `in` and `out` may be the same memory.
using UnaryLoop = void (*)(const void* in, void* out, int64_t count, const LoopParameters&);

// values[0] is alpha, values[1] beta or gamma.
enum class FloatUnary : uint8_t {
  kAbs,
  kAtan,
  kCeil,
  kCelu,
  kCos,
  kElu,
  kErf,
  kExp,
  kFloor,
  kGelu,
  kGeluTanh,
  kHardSigmoid,
  kHardSwish,
  kLeakyRelu,
  kLog,
  kMish,
  kNeg,
  kReciprocal,
  kRelu,
  kRound,
  kSelu,
  kSigmoid,
  kSin,
  kSoftplus,
  kSoftsign,
  kSqrt,
  kSwish,
  kTanh,
  kThresholdedRelu,
  kCount,  // of the functions above
};

// out[i] = a[i * a_step] op b[i * b_step]; the steps are 0 or 1. `out` may be the memory
// of an operand whose step is 1.
using FloatBinaryLoop = void (*)(const float* a, int64_t a_step, const float* b, int64_t b_step,
                                 float* out, int64_t count);

enum class FloatBinary : uint8_t { kAdd, kDiv, kMul, kPRelu, kSub, kCount };

namespace baseline {
UnaryLoop Unary(FloatUnary op);
FloatBinaryLoop Binary(FloatBinary op);
}  // namespace baseline
namespace avx2 {
UnaryLoop Unary(FloatUnary op);
FloatBinaryLoop Binary(FloatBinary op);
}  // namespace avx2
namespace avx512 {
UnaryLoop Unary(FloatUnary op);
FloatBinaryLoop Binary(FloatBinary op);
}  // namespace avx512

}  // namespace onward::kernels::cpu
