// The instruction sets that fast CPU kernels are compiled for.
#pragma once

#include <cstdint>
#include <string_view>

namespace onward::kernels::cpu {

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

// What was compiled for `set`, which must be one that Supports().
template <typename T>
T ForSet(InstructionSet set, T baseline, [[maybe_unused]] T avx2, [[maybe_unused]] T avx512) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return avx512;
  if (set == InstructionSet::kAvx2) return avx2;
#endif
  return baseline;
}

}  // namespace onward::kernels::cpu
