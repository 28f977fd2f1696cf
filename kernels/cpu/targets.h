// The instruction sets that vector loops are compiled for, one row each. cmake/targets.cmake reads
// the rows too: it compiles simd/x_inl.h once for each target that has the loops of simd/x.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onward::kernels::cpu {

// Kinds of loops. A target need not have all of them.
enum LoopKind : uint32_t {
  kVectorLoops = 1,  // of float32 in vectors
  kHalfLoops = 2,    // conversions of float16 by the processor
  kInt8Loops = 4,    // products of 8-bit integers
  kBf16Loops = 8,    // products of pairs of bfloat16
};

// Narrow ones first; the last of those that are allowed runs. The columns: name, which is also the
// namespace of its loops; enumerator; the target whose loops serve where it has none; architecture;
// 32-bit lanes of a vector; kinds of loops; compiler flags besides those of the implied target;
// what the processor must have besides. GCC's generic tuning for AVX-512 keeps addresses in vector
// registers when a loop needs many, and moving them back takes a slot of the multiplications' port.
// clang-format off
#define ONWARD_TARGETS(X, ...) \
  X(baseline, kBaseline, kBaseline, any, 4, kVectorLoops | kInt8Loops, "", true, __VA_ARGS__) \
  X(avx2, kAvx2, kBaseline, x86_64, 8, kVectorLoops | kHalfLoops | kInt8Loops, "-mavx2 -mfma -mf16c -O3", ONWARD_CPU_HAS("avx2") && ONWARD_CPU_HAS("fma"), __VA_ARGS__) \
  X(avx512, kAvx512, kAvx2, x86_64, 16, kVectorLoops | kHalfLoops | kInt8Loops, "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512 -mtune=icelake-server", ONWARD_CPU_HAS("avx512f") && ONWARD_CPU_HAS("avx512bw") && ONWARD_CPU_HAS("avx512dq") && ONWARD_CPU_HAS("avx512vl"), __VA_ARGS__) \
  X(avx512vnni, kAvx512Vnni, kAvx512, x86_64, 16, kInt8Loops, "-mavx512vnni", ONWARD_CPU_HAS("avx512vnni"), __VA_ARGS__) \
  X(avx512bf16, kAvx512Bf16, kAvx512Vnni, x86_64, 16, kBf16Loops, "-mavx512bf16", ONWARD_CPU_HAS("avx512bf16"), __VA_ARGS__) \
  X(amx, kAmx, kAvx512Bf16, x86_64, 16, kInt8Loops | kBf16Loops, "-mamx-tile -mamx-bf16 -mamx-int8", MayUseAmx(), __VA_ARGS__) \
  X(neon, kNeon, kBaseline, aarch64, 4, kVectorLoops | kHalfLoops | kInt8Loops, "-O3", true, __VA_ARGS__)
// clang-format on

#define ONWARD_TARGET_ENUMERATOR(name, enumerator, ...) enumerator,
enum class Target : uint8_t { ONWARD_TARGETS(ONWARD_TARGET_ENUMERATOR) kCount };
#undef ONWARD_TARGET_ENUMERATOR
inline constexpr int kNumTargets = static_cast<int>(Target::kCount);

// A bit per target.
using TargetMask = uint32_t;
constexpr TargetMask MaskOf(Target target) { return TargetMask{1} << static_cast<int>(target); }

struct TargetRow {
  std::string_view name;
  Target implied;
  bool is_compiled;  // for the architecture of this build
  uint32_t loops;    // LoopKind bits
};

#if defined(__x86_64__)
inline constexpr bool kOn_x86_64 = true;
#else
inline constexpr bool kOn_x86_64 = false;
#endif
#if defined(__aarch64__)
inline constexpr bool kOn_aarch64 = true;
#else
inline constexpr bool kOn_aarch64 = false;
#endif
inline constexpr bool kOn_any = true;

#define ONWARD_TARGET_ROW(name, enumerator, implied, architecture, lanes, loops, ...) \
  {#name, Target::implied, kOn_##architecture, loops},
inline constexpr TargetRow kTargetRows[] = {ONWARD_TARGETS(ONWARD_TARGET_ROW)};
#undef ONWARD_TARGET_ROW

constexpr const TargetRow& RowOf(Target target) { return kTargetRows[static_cast<int>(target)]; }

// The targets of this build that have loops of one of the kinds.
constexpr TargetMask TargetsWith(uint32_t kinds) {
  TargetMask mask = 0;
  for (int i = 0; i < kNumTargets; ++i)
    if (kTargetRows[i].is_compiled && (kTargetRows[i].loops & kinds) != 0)
      mask |= TargetMask{1} << i;
  return mask;
}
inline constexpr TargetMask kVectorTargets = TargetsWith(kVectorLoops);
inline constexpr TargetMask kInt8Targets = TargetsWith(kInt8Loops);
inline constexpr TargetMask kBf16Targets = TargetsWith(kBf16Loops);

// The targets of this build that the processor has.
TargetMask DetectedTargets();

// The targets that may run in this process: what the processor has, within the limit. The baseline
// is always one of them. Safe to call from many threads.
TargetMask AllowedTargets();

// Returns whether the process is limited to named targets, which then run even where others are
// faster.
bool HasTargetLimit();

// Limits the process to the targets of `mask`, and the baseline. At first the limit is what the
// environment variable ONWARD_CPU names, if rows have all its names.
void LimitTargets(TargetMask mask);

// Sets `mask` to the targets of a list such as "avx2" or "avx512vnni,avx512bf16", with those that
// they imply. Returns the first name that no row has, or "".
std::string_view ReadTargets(std::string_view list, TargetMask& mask);

// "baseline avx2 avx512"
std::string TargetNames(TargetMask mask);

// The last target of a mask that is not empty.
Target Widest(TargetMask mask);
// The target whose vector loops run in code that has no node to ask.
inline Target VectorTarget() { return Widest(AllowedTargets() & kVectorTargets); }

// A function that is compiled once for each of some targets.
template <typename Function>
struct PerTarget {
  Function of[kNumTargets] = {};

  // The function of the target or of the nearest one that it implies; null where none has it.
  constexpr Function For(Target target) const {
    while (of[static_cast<int>(target)] == nullptr && target != RowOf(target).implied)
      target = RowOf(target).implied;
    return of[static_cast<int>(target)];
  }
};

// Declares `result name parameters`, parameters in parentheses, in the namespace of each target
// that has loops of `kinds`, and kNamePerTarget, the table of them.
#define ONWARD_PER_TARGET(kinds, result, name, parameters)                   \
  ONWARD_TARGETS(ONWARD_DECLARE_IN_TARGET, result, name, parameters)         \
  inline constexpr PerTarget<result(*) parameters> k##name##PerTarget = [] { \
    PerTarget<result(*) parameters> table;                                   \
    ONWARD_TARGETS(ONWARD_SET_IN_TABLE, kinds, name)                         \
    return table;                                                            \
  }();
#define ONWARD_DECLARE_IN_TARGET(target, enumerator, implied, architecture, lanes, loops, flags, \
                                 has, result, name, parameters)                                  \
  namespace target {                                                                             \
  result name parameters;                                                                        \
  }
#define ONWARD_SET_IN_TABLE(target, enumerator, implied, architecture, lanes, loops, flags, has, \
                            kinds, name)                                                         \
  if constexpr (kOn_##architecture && ((loops) & (kinds)) != 0)                                  \
    table.of[static_cast<int>(Target::enumerator)] = target::name;

}  // namespace onward::kernels::cpu
