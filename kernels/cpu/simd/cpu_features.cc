#include "kernels/cpu/simd/cpu_features.h"

#include <algorithm>
#include <cstdlib>

namespace onward::kernels::cpu {
namespace {

InstructionSet Detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!avx2) return InstructionSet::kBaseline;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? InstructionSet::kAvx512 : InstructionSet::kAvx2;
#else
  return InstructionSet::kBaseline;
#endif
}

InstructionSet DetectBelowLimit() {
  const InstructionSet best = Detect();
  const char* limit = std::getenv("ONWARD_CPU");
  if (limit == nullptr) return best;
  for (InstructionSet set :
       {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (InstructionSetName(set) == limit) return std::min(best, set);
  }
  return best;
}

}  // namespace

std::string_view InstructionSetName(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx512:
      return "avx512";
    case InstructionSet::kAvx2:
      return "avx2";
    case InstructionSet::kBaseline:
      break;
  }
  return "baseline";
}

InstructionSet BestInstructionSet() {
  static const InstructionSet best = DetectBelowLimit();
  return best;
}

}  // namespace onward::kernels::cpu
