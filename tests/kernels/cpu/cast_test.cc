// Conversions between float32 and 16-bit floats by vectors give the bits of the plain ones, for
// every float16 and for floats around every rounding boundary.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "kernels/cpu/simd/half_loops.h"
#include "onward/small_float.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;

OpCase CastCase(std::string name, Tensor x, Tensor y) {
  OpCase c;
  c.op = "Cast";
  c.name = std::move(name);
  c.attributes = {{"to", static_cast<int64_t>(y.dtype())}};
  c.inputs = {std::move(x)};
  c.expected = {std::move(y)};
  return c;
}

TEST(HalfCast, EveryFloat16) {
  Tensor x(DType::kFloat16, {65536}), y(DType::kFloat32, {65536});
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Float16 half;
    half.bits = static_cast<uint16_t>(bits);
    x.mutable_data<Float16>()[bits] = half;
    // By definition: (-1)^s 2^(e - 25) (1024 + m), or 2^-24 m.
    const int exponent = static_cast<int>(bits >> 10 & 31),
              mantissa = static_cast<int>(bits & 1023);
    double value =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31)
      value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN();
    y.mutable_data<float>()[bits] = static_cast<float>(bits >> 15 ? -value : value);
  }
  ExpectFastKernels(CastCase("from float16", x, y));
}

TEST(HalfCast, FloatsAroundEveryBoundary) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    Float16 half;
    half.bits = static_cast<uint16_t>(bits);
    const uint32_t raw = std::bit_cast<uint32_t>(static_cast<float>(half));
    for (const uint32_t near : {raw, raw + 0x0fff, raw + 0x1000, raw + 0x1001})
      values.push_back(std::bit_cast<float>(near | (bits & 1) << 31));
  }
  for (const uint32_t raw : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x477fefffu, 0x477ff000u,
                             0x33000000u, 0x33000001u, 0x00000001u, 0x80000000u})
    values.push_back(std::bit_cast<float>(raw));
  Tensor x = Tensor::Of<float>({static_cast<int64_t>(values.size())}, values);
  Tensor y(DType::kFloat16, x.dims());
  for (size_t i = 0; i < values.size(); ++i) y.mutable_data<Float16>()[i] = Float16(values[i]);
  ExpectFastKernels(CastCase("to float16", x, y));
}

// A bfloat16 is the upper half of a float: by definition.
TEST(HalfCast, EveryBFloat16) {
  Tensor x(DType::kBFloat16, {65536}), y(DType::kFloat32, {65536});
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    x.mutable_data<BFloat16>()[bits].bits = static_cast<uint16_t>(bits);
    y.mutable_data<float>()[bits] = std::bit_cast<float>(bits << 16);
  }
  EXPECT_GT(ExpectFastKernels(CastCase("from bfloat16", x, y)), 0);
}

// Below, at and above the middle between neighbours: ties go to the even one, NaN stays NaN.
TEST(HalfCast, FloatsAroundEveryBFloat16) {
  std::vector<float> values;
  std::vector<uint16_t> rounded;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const bool nan = (bits & 0x7fff) > 0x7f80;
    for (const uint32_t rest : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      if ((bits & 0x7fff) == 0x7f80 && rest != 0) continue;
      values.push_back(std::bit_cast<float>(bits << 16 | rest));
      const uint32_t up = rest > 0x8000 || (rest == 0x8000 && bits % 2 == 1) ? 1 : 0;
      rounded.push_back(static_cast<uint16_t>(nan ? bits | 0x40 : bits + up));
    }
  }
  const Tensor x = Tensor::Of<float>({static_cast<int64_t>(values.size())}, values);
  Tensor y(DType::kBFloat16, x.dims());
  for (size_t i = 0; i < rounded.size(); ++i) y.mutable_data<BFloat16>()[i].bits = rounded[i];
  EXPECT_GT(ExpectFastKernels(CastCase("to bfloat16", x, y)), 0);
}

template <typename T>
void ExpectEveryLength(DType dtype) {
  for (int64_t n = 0; n < 40; ++n) {
    Tensor x(DType::kFloat32, {n}), y(dtype, {n});
    for (int64_t i = 0; i < n; ++i) {
      x.mutable_data<float>()[i] = static_cast<float>(i) / 4;
      y.mutable_data<T>()[i] = T(static_cast<float>(i) / 4);
    }
    ExpectFastKernels(CastCase("narrow", x, y));
    ExpectFastKernels(CastCase("widen", y, x));
  }
}

TEST(HalfCast, EveryLength) {
  ExpectEveryLength<Float16>(DType::kFloat16);
  ExpectEveryLength<BFloat16>(DType::kBFloat16);
}

}  // namespace
}  // namespace onward::kernels
