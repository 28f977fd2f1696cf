// Elementwise float32 functions of every instruction set against the C library in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::RandomFloats;

struct Function {
  std::string op;
  std::function<double(double)> exact;
  float low, high;
  double rtol = 3e-7;
  double atol = 1e-37;
  Attributes attributes = {};
};

// Two units in the last place.
constexpr double kTwoUnits = 2.4e-7;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double Elu(double x, double alpha) { return x < 0 ? alpha * std::expm1(x) : x; }

std::vector<Function> Functions() {
  const double selu_alpha = 1.67326319217681884765625, selu_gamma = 1.05070102214813232421875;
  return {
      {"Abs", [](double x) { return std::fabs(x); }, -9, 9, 0},
      {"Acos", [](double x) { return std::acos(x); }, -1, 1, kTwoUnits, 0},
      {"Acos", [](double x) { return std::acos(x); }, 0.9999f, 1, kTwoUnits, 0},
      {"Acosh", [](double x) { return std::acosh(x); }, 1, 3, kTwoUnits, 0},
      {"Acosh", [](double x) { return std::acosh(x); }, 1, 1e5f, kTwoUnits, 0},
      {"Asin", [](double x) { return std::asin(x); }, -1, 1, kTwoUnits, 0},
      {"Asinh", [](double x) { return std::asinh(x); }, -9, 9, kTwoUnits, 0},
      {"Asinh", [](double x) { return std::asinh(x); }, -1e5f, 1e5f, kTwoUnits, 0},
      {"Atanh", [](double x) { return std::atanh(x); }, -1, 1, kTwoUnits, 0},
      {"Atan", [](double x) { return std::atan(x); }, -9, 9, 3e-7},
      {"Atan", [](double x) { return std::atan(x); }, -1e-3f, 1e-3f, 3e-7},
      {"Ceil", [](double x) { return std::ceil(x); }, -9, 9, 0},
      {"Celu",
       [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; },
       -20,
       5,
       4e-7,
       0,
       {{"alpha", 2.0f}}},
      {"Cos", [](double x) { return std::cos(x); }, -8000, 8000, 0, 3e-7},
      {"Cos", [](double x) { return std::cos(x); }, -1e6, 1e6, 0, 3e-7},
      {"Cosh", [](double x) { return std::cosh(x); }, -89.5f, 89.5f, kTwoUnits, 0},
      {"Cosh", [](double x) { return std::cosh(x); }, -2, 2, kTwoUnits, 0},
      {"Elu", [](double x) { return Elu(x, 0.5); }, -20, 5, 4e-7, 0, {{"alpha", 0.5f}}},
      {"Erf", [](double x) { return std::erf(x); }, -5, 5, 4e-7},
      {"Exp", [](double x) { return std::exp(x); }, -87, 88, 3e-7},
      {"Exp", [](double x) { return std::exp(x); }, -103, -87, 1e-6, 2e-45},
      {"Floor", [](double x) { return std::floor(x); }, -9, 9, 0},
      {"Gelu", [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }, -6, 6, 4e-7, 4e-7},
      {"Gelu",
       [](double x) {
         return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
       },
       -6,
       6,
       4e-7,
       4e-7,
       {{"approximate", std::string("tanh")}}},
      {"HardSigmoid",
       [](double x) { return std::clamp(0.25 * x + 0.5, 0.0, 1.0); },
       -4,
       4,
       2e-7,
       1e-7,
       {{"alpha", 0.25f}}},
      {"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }, -5, 5, 3e-7,
       3e-7},
      {"LeakyRelu", [](double x) { return x < 0 ? 0.25 * x : x; }, -4, 4, 0, 0, {{"alpha", 0.25f}}},
      {"Log", [](double x) { return std::log(x); }, 0.5f, 2, 3e-7},
      {"Log", [](double x) { return std::log(x); }, 1e-30f, 1e30f, 3e-7},
      {"Mish", [](double x) { return x * std::tanh(Softplus(x)); }, -30, 30, 8e-7, 1e-30},
      {"Neg", [](double x) { return -x; }, -9, 9, 0},
      {"Reciprocal", [](double x) { return 1 / x; }, -9, 9, 1.2e-7},
      {"Relu", [](double x) { return x < 0 ? 0 : x; }, -9, 9, 0},
      {"Round", [](double x) { return std::nearbyint(x); }, -9, 9, 0},
      {"Selu", [=](double x) { return selu_gamma * Elu(x, selu_alpha); }, -20, 5, 5e-7, 0},
      {"Shrink",
       [](double x) { return x < -0.5  ? x + 0.25
                             : x > 0.5 ? x - 0.25
                                       : 0; },
       -4,
       4,
       0,
       0,
       {{"bias", 0.25f}}},
      {"Sigmoid", [](double x) { return Sigmoid(x); }, -80, 30, 5e-7},
      {"Sin", [](double x) { return std::sin(x); }, -8000, 8000, 0, 3e-7},
      {"Sin", [](double x) { return std::sin(x); }, -1, 1, 2e-7, 0},
      {"Sin", [](double x) { return std::sin(x); }, -1e6, 1e6, 0, 3e-7},
      {"Sinh", [](double x) { return std::sinh(x); }, -89.5f, 89.5f, kTwoUnits, 0},
      {"Sinh", [](double x) { return std::sinh(x); }, -2, 2, kTwoUnits, 0},
      {"Softplus", [](double x) { return Softplus(x); }, -80, 30, kTwoUnits},
      {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }, -9, 9, 3e-7},
      {"Sqrt", [](double x) { return std::sqrt(x); }, 0, 1e9f, 1.2e-7},
      {"Swish",
       [](double x) { return x * Sigmoid(2 * x); },
       -30,
       30,
       6e-7,
       1e-30,
       {{"alpha", 2.0f}}},
      {"Tan", [](double x) { return std::tan(x); }, -9, 9, kTwoUnits, 0},
      {"Tan", [](double x) { return std::tan(x); }, -1e6, 1e6, kTwoUnits, 0},
      {"Tanh", [](double x) { return std::tanh(x); }, -10, 10, 4e-7},
      {"Tanh", [](double x) { return std::tanh(x); }, -1e-3f, 1e-3f, 4e-7},
      {"ThresholdedRelu", [](double x) { return x > 1 ? x : 0; }, -4, 4, 0},
  };
}

OpCase CaseOf(const Function& f, Tensor x) {
  Tensor y(DType::kFloat32, x.dims());
  for (int64_t i = 0; i < x.num_elements(); ++i)
    y.mutable_data<float>()[i] =
        static_cast<float>(f.exact(static_cast<double>(x.data<float>()[i])));
  return {absl::StrCat(f.low, " to ", f.high),
          f.op,
          "",
          f.attributes,
          {std::move(x)},
          {std::move(y)},
          f.rtol,
          f.atol};
}

TEST(Unary, DenseSamples) {
  std::mt19937 random(1);
  for (const Function& f : Functions())
    EXPECT_GE(ExpectFastKernels(CaseOf(f, RandomFloats({50001}, random, f.low, f.high))), 1);
}

TEST(Unary, EveryLength) {
  std::mt19937 random(2);
  for (const Function& f : Functions()) {
    if (f.op != "Exp" && f.op != "Relu") continue;
    for (int64_t n = 0; n < 40; ++n)
      ExpectFastKernels(CaseOf(f, RandomFloats({n}, random, f.low, f.high)));
  }
}

TEST(Unary, SpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {0.0f,  -0.0f,  kInfinity, -kInfinity, nan,
                                     1e30f, -1e30f, 1e-40f,    -1e-40f,    1e-30f,
                                     1.0f,  -1.0f,  89.2f,     -89.2f,     89.5f};
  for (const Function& f : Functions()) {
    // Products of infinity and zero: x sigmoid(x) at -infinity is not a number.
    if (f.op == "Mish" || f.op == "Swish" || f.op == "HardSwish" || f.op == "Gelu" ||
        f.op == "Softsign")
      continue;
    Function loose = f;
    loose.atol = std::max(f.atol, 1e-37);
    loose.rtol = std::max(f.rtol, 3e-7);
    ExpectFastKernels(CaseOf(loose, Tensor::Of<float>({15}, values)));
  }
}

TEST(Unary, SignsOfZeros) {
  for (const Function& f : Functions()) {
    // Of these, some or all zeros become 0.
    if (f.op == "Gelu" || f.op == "Relu" || f.op == "ThresholdedRelu" || f.op == "Shrink") continue;
    if (f.exact(0) != 0) continue;
    const OpCase c = CaseOf(f, Tensor::Of<float>({2}, {0.0f, -0.0f}));
    for (const auto& [entry, target] : testing::KernelsPerTarget(c)) {
      KernelOptions options;
      options.cpu_targets = target;
      const auto outputs = testing::RunKernel(entry, c, 1, 0, options);
      if (absl::IsUnimplemented(outputs.status())) continue;  // another dtype's
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_TRUE(SameBits((*outputs)[0], c.expected[0])) << entry.name;
    }
  }
}

// Floats of every sign and exponent, denormals, infinities and NaN among them.
TEST(Unary, EveryMagnitude) {
  constexpr uint64_t kStep = 65521;
  std::vector<float> values;
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += kStep)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  const auto count = static_cast<int64_t>(values.size());
  for (const Function& f : Functions()) {
    if (f.rtol != kTwoUnits) continue;
    Function exact = f;
    exact.atol = 2.9e-45;  // two units of denormals
    EXPECT_GE(ExpectFastKernels(CaseOf(exact, Tensor::Of<float>({count}, values))), 1);
  }
}

}  // namespace
}  // namespace onward::kernels
