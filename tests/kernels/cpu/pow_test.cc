// Pow of float32 on every instruction set against the C library in double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::RandomFloats;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Two units in the last place: relative, and of denormals.
constexpr double kRelative = 2.4e-7, kAbsolute = 2.9e-45;

float Power(float x, float y) {
  return static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
}

// y has the shape of x, or is a scalar.
OpCase CaseOf(const std::string& name, const Tensor& x, const Tensor& y) {
  Tensor z(DType::kFloat32, x.dims());
  for (int64_t i = 0; i < x.num_elements(); ++i)
    z.mutable_data<float>()[i] =
        Power(x.data<float>()[i], y.data<float>()[y.num_elements() == 1 ? 0 : i]);
  return {name, "Pow", "", {}, {x, y}, {z}, kRelative, kAbsolute};
}

TEST(Pow, AnyBits) {
  std::mt19937 random(1);
  Tensor x(DType::kFloat32, {100003}), y(DType::kFloat32, {100003});
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    x.mutable_data<float>()[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
    y.mutable_data<float>()[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
  }
  EXPECT_GE(ExpectFastKernels(CaseOf("any bits", x, y)), 1);
}

// The whole range of results, denormals too.
TEST(Pow, AnyResult) {
  std::mt19937 random(2);
  Tensor x(DType::kFloat32, {100003}), y = RandomFloats({100003}, random, -151, 129);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const float base = std::bit_cast<float>(static_cast<uint32_t>(random() & 0x7fffffffu));
    x.mutable_data<float>()[i] = base;
    if (base > 0 && base < kInfinity) y.mutable_data<float>()[i] /= std::log2(base);
  }
  EXPECT_GE(ExpectFastKernels(CaseOf("any result", x, y)), 1);
}

TEST(Pow, BasesNearOne) {
  std::mt19937 random(3);
  const Tensor x = RandomFloats({50001}, random, 0.999f, 1.001f);
  EXPECT_GE(ExpectFastKernels(CaseOf("", x, RandomFloats({50001}, random, -1e5f, 1e5f))), 1);
}

TEST(Pow, SpecialValues) {
  const std::vector<float> values = {
      0.0f,        -0.0f,        1.0f,        -1.0f,        kInfinity,   -kInfinity,
      kNaN,        0.5f,         -0.5f,       2.0f,         -2.0f,       3.0f,
      -3.0f,       1e-45f,       -1e-45f,     3e38f,        -3e38f,      8388607.5f,
      -8388607.5f, 8388609.0f,   16777215.0f, -16777215.0f, 16777216.0f, -16777218.0f,
      0.99999994f, -0.99999994f, 1.00000012f, -1.00000012f};
  std::vector<float> bases, exponents;
  for (float x : values) {
    for (float y : values) {
      bases.push_back(x);
      exponents.push_back(y);
    }
  }
  const auto count = static_cast<int64_t>(bases.size());
  const OpCase c =
      CaseOf("all pairs", Tensor::Of<float>({count}, bases), Tensor::Of<float>({count}, exponents));
  EXPECT_GE(ExpectFastKernels(c), 1);
  for (const auto& [entry, target] : testing::KernelsPerTarget(c)) {
    KernelOptions options;
    options.cpu_targets = target;
    const auto outputs = testing::RunKernel(entry, c, 1, 0, options);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (int64_t i = 0; i < count; ++i) {
      const float z = (*outputs)[0].data<float>()[i], expected = c.expected[0].data<float>()[i];
      EXPECT_TRUE(std::isnan(z) || std::signbit(z) == std::signbit(expected))
          << entry.name << " of " << bases[static_cast<size_t>(i)] << " and "
          << exponents[static_cast<size_t>(i)];
    }
  }
}

TEST(Pow, ExponentsOfAllBases) {
  std::mt19937 random(4);
  for (const float exponent : {2.0f, 3.0f, 0.5f, -1.0f, 2.5f, 0.0f, kInfinity, kNaN}) {
    for (const int64_t count : {1, 5, 16, 37, 1000}) {
      Tensor x = RandomFloats({count}, random, -3, 30);
      if (count > 5) {
        const float special[] = {0.0f, -0.0f, kInfinity, -kInfinity, kNaN};
        std::copy(std::begin(special), std::end(special), x.mutable_data<float>());
      }
      const Tensor y = Tensor::Of<float>({}, {exponent});
      ExpectFastKernels(CaseOf(absl::StrCat(count, " to ", exponent), x, y));
    }
  }
}

}  // namespace
}  // namespace onward::kernels
