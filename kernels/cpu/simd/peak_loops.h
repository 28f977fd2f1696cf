// Loops that do nothing but what an instruction set does fastest: the ceilings that kernels are
// measured against. Arithmetic is on chains of registers that wait for nothing but themselves,
// memory is read and written in order.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// A loop of multiply-adds; null: the set has no such instruction.
struct ArithmeticLoop {
  void (*run)(int64_t rounds, float* sink) = nullptr;  // sink: of 64 bytes
  double operations = 0;                               // of a round, two a multiply-add
};

struct PeakLoops {
  ArithmeticLoop float32, float64;
  // Whole lines of 64 bytes.
  void (*read)(const char* from, int64_t bytes, float* sink);
  void (*write)(char* to, int64_t bytes);
  void (*write_past)(char* to, int64_t bytes);  // not through the caches
  void (*copy)(char* to, const char* from, int64_t bytes);
  void (*copy_past)(char* to, const char* from, int64_t bytes);
  void (*add)(char* to, const char* from, const char* other, int64_t bytes);
};

// Products of bytes are Int8TileKernels::peak.
ONWARD_PER_TARGET(kVectorLoops, const PeakLoops&, Peaks, ())
// Products of pairs of bfloat16.
ONWARD_PER_TARGET(kBf16Loops, ArithmeticLoop, Bf16Peak, ())

}  // namespace onward::kernels::cpu
