// Loops of functions of one float32 operand over contiguous elements.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// The values of an op's scalar attributes.
struct LoopParameters {
  float values[2] = {};
};

// Processes `count` contiguous elements. `in` and `out` may be the same memory.
using UnaryLoop = void (*)(const void* in, void* out, int64_t count, const LoopParameters&);

// values[0] is alpha or lambd, values[1] beta, bias or gamma.
enum class FloatUnary : uint8_t {
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCelu,
  kCos,
  kCosh,
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
  kShrink,
  kSigmoid,
  kSin,
  kSinh,
  kSoftplus,
  kSoftsign,
  kSqrt,
  kSwish,
  kTan,
  kTanh,
  kThresholdedRelu,
  kCount,  // of the functions above
};

ONWARD_PER_TARGET(kVectorLoops, UnaryLoop, Unary, (FloatUnary op))

}  // namespace onward::kernels::cpu
