// The instruction sets that fast CPU kernels are compiled for.
#pragma once

#include <cstdint>
#include <string_view>

namespace onward::cpu {

enum class InstructionSet : uint8_t {
  kBaseline,  // what every target of the compiler has: x86-64 with SSE2
  kAvx2,      // AVX2, FMA and F16C
  kAvx512,    // AVX-512 F, BW, DQ and VL
};

// "baseline", "avx2", "avx512"
std::string_view InstructionSetName(InstructionSet set);

// The best set that this processor has, lowered by the environment variable ONWARD_CPU (a name as
// above; an unknown name is ignored). Read once per process.
InstructionSet BestInstructionSet();

// Whether kernels of `set` may run in this process.
inline bool Supports(InstructionSet set) { return set <= BestInstructionSet(); }

}  // namespace onward::cpu
