#pragma once

#include "kernels/cpu/simd/binary.h"
#include "kernels/cpu/simd/pow_inl.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <FloatBinary kOp>
ONWARD_INLINE Vec ApplyBinary(Vec a, Vec b) {
  if constexpr (kOp == FloatBinary::kAdd) return a + b;
  if constexpr (kOp == FloatBinary::kDiv) return a / b;
  if constexpr (kOp == FloatBinary::kMul) return a * b;
  if constexpr (kOp == FloatBinary::kPow) return Pow(a, b);
  if constexpr (kOp == FloatBinary::kPRelu) return Select(a < Vec{}, a * b, a);
  if constexpr (kOp == FloatBinary::kSub) return a - b;
}

template <FloatBinary kOp>
void RunBinary(const float* a, int64_t a_step, const float* b, int64_t b_step, float* out,
               int64_t count) {
  if constexpr (kOp == FloatBinary::kPow) {
    if (a_step != 0 && b_step == 0 && RunCommonPower(a, *b, out, count)) return;
  }
  const auto run = [&](auto load_a, auto load_b) ONWARD_LAMBDA_INLINE {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      Store(out + i, ApplyBinary<kOp>(load_a(i, kLanes), load_b(i, kLanes)));
    const int left = static_cast<int>(count - i);
    if (left > 0) StoreN(out + i, ApplyBinary<kOp>(load_a(i, left), load_b(i, left)), left);
  };
  const auto all_a = [a](int64_t i, int n) ONWARD_LAMBDA_INLINE { return LoadLanes(a + i, n); };
  const auto all_b = [b](int64_t i, int n) ONWARD_LAMBDA_INLINE { return LoadLanes(b + i, n); };
  if (a_step != 0 && b_step != 0) return run(all_a, all_b);
  if (a_step != 0) {
    const Vec one = Set(*b);
    return run(all_a, [one](int64_t, int) ONWARD_LAMBDA_INLINE { return one; });
  }
  const Vec one = Set(*a);
  run([one](int64_t, int) ONWARD_LAMBDA_INLINE { return one; }, all_b);
}

template <int... kOps>
constexpr FloatBinaryLoop BinaryOf(FloatBinary op, std::integer_sequence<int, kOps...>) {
  constexpr FloatBinaryLoop kLoops[] = {RunBinary<static_cast<FloatBinary>(kOps)>...};
  return kLoops[static_cast<int>(op)];
}
FloatBinaryLoop Binary(FloatBinary op) {
  constexpr int kCount = static_cast<int>(FloatBinary::kCount);
  return BinaryOf(op, std::make_integer_sequence<int, kCount>());
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
