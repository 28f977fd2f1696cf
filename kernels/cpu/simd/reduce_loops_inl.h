#pragma once

#include "kernels/cpu/simd/math_inl.h"
#include "kernels/cpu/simd/reduce_loops.h"
#include "kernels/cpu/simd/row_sums_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <bool kMax>
ONWARD_INLINE Vec Further(Vec a, Vec b) {
  return kMax ? MaxOrNan(a, b) : MinOrNan(a, b);
}

template <bool kMax>
inline float ExtremeOf(const float* x, int64_t count) {
  Vec best[kChains];
  for (Vec& b : best) b = Set(kMax ? -__builtin_inff() : __builtin_inff());
  ForVecs(count, [&](int64_t i, int chain, int lanes) ONWARD_LAMBDA_INLINE {
    const Vec value = LoadLanes(x + i, lanes);
    best[chain] = Further<kMax>(best[chain],
                                lanes == kLanes ? value : KeepLanesOr(value, lanes, best[chain]));
  });
  return FoldLanes(Further<kMax>(Further<kMax>(best[0], best[1]), Further<kMax>(best[2], best[3])),
                   [](Vec a, Vec b) ONWARD_LAMBDA_INLINE { return Further<kMax>(a, b); });
}

template <bool kMax>
inline void ExtremeInto(const float* x, int64_t count, float* to) {
  ForVecs(count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
    StoreLanes(to + i, Further<kMax>(LoadLanes(to + i, lanes), LoadLanes(x + i, lanes)), lanes);
  });
}

inline double SumExp(const float* x, int64_t count, float shift) {
  const Vec top = Set(shift);
  return SumOf(x, count, [top](Vec v) ONWARD_LAMBDA_INLINE { return ExpOfNegative(v - top); });
}

inline void AddExp(const float* x, const float* shifts, int64_t count, float* sums) {
  ForVecs(count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
    const Vec e = ExpOfNegative(LoadLanes(x + i, lanes) - LoadLanes(shifts + i, lanes));
    StoreLanes(sums + i, LoadLanes(sums + i, lanes) + e, lanes);
  });
}

template <Addend kAddend>
ONWARD_INLINE Vec AddendOf(Vec v) {
  if constexpr (kAddend == Addend::kMagnitude) return Abs(v);
  if constexpr (kAddend == Addend::kSquare) return v * v;
  return v;
}

template <Addend kAddend>
inline double SumAddends(const float* x, int64_t count) {
  return SumOf(x, count, [](Vec v) ONWARD_LAMBDA_INLINE { return AddendOf<kAddend>(v); });
}

template <Addend kAddend>
inline void AddAddends(const float* x, int64_t count, float* sums) {
  ForVecs(count, [&](int64_t i, int, int lanes) ONWARD_LAMBDA_INLINE {
    const Vec value = AddendOf<kAddend>(LoadLanes(x + i, lanes));
    StoreLanes(sums + i, LoadLanes(sums + i, lanes) + value, lanes);
  });
}

const ReduceLoops& Reductions() {
  static constexpr ReduceLoops kLoops = {
      ExtremeOf<true>,
      ExtremeOf<false>,
      ExtremeInto<true>,
      ExtremeInto<false>,
      SumExp,
      AddExp,
      {SumAddends<Addend::kItself>, SumAddends<Addend::kMagnitude>, SumAddends<Addend::kSquare>},
      {AddAddends<Addend::kItself>, AddAddends<Addend::kMagnitude>, AddAddends<Addend::kSquare>},
  };
  return kLoops;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
