// Loops that do nothing but what an instruction set does fastest: the ceilings that kernels are
// measured against. Arithmetic is on chains of registers that wait for nothing but themselves,
// memory is read and written in order.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/cpu_features.h"

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

namespace baseline {
const PeakLoops& Peaks();
}
namespace avx2 {
const PeakLoops& Peaks();
}
namespace avx512 {
const PeakLoops& Peaks();
}
namespace avx512bf16 {
ArithmeticLoop BFloat16();
}

// The loops with the instructions that kernels of the set use; Supports(set). Products of bytes are
// Int8TileKernels::peak.
const PeakLoops& PeaksOf(InstructionSet set);
// The loop of the best set of this process; null: the processor has no products of bfloat16 pairs.
ArithmeticLoop BFloat16Peak();

}  // namespace onward::kernels::cpu
