// Elementwise float64 functions of every instruction set against the C library's of long double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;

struct Function {
  std::string_view op;
  long double (*exact)(long double);
  double low, high;
  double units = 2;  // in the last place
};

long double Sigmoid(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

constexpr Function kFunctions[] = {
    {"Exp", std::exp, -745.5, 710},      {"Exp", std::exp, -1, 1},
    {"Log", std::log, 0.5, 2},           {"Log", std::log, 1e-300, 1e300},
    {"Sigmoid", Sigmoid, -750, 40, 2.3}, {"Sigmoid", Sigmoid, -2, 2, 2.3},
    {"Tanh", std::tanh, -22, 22},        {"Tanh", std::tanh, -0.5, 0.5}};

OpCase CaseOf(const Function& f, const std::vector<double>& values) {
  const auto count = static_cast<int64_t>(values.size());
  std::vector<double> expected;
  for (double x : values) expected.push_back(static_cast<double>(f.exact(x)));
  // Half a unit for what rounds the expected value.
  const double units = f.units + 0.5;
  return {absl::StrCat(f.low, " to ", f.high),
          std::string(f.op),
          "",
          {},
          {Tensor::Of<double>({count}, values)},
          {Tensor::Of<double>({count}, expected)},
          units * std::numeric_limits<double>::epsilon(),
          units * std::numeric_limits<double>::denorm_min()};
}

TEST(DoubleUnary, DenseSamples) {
  std::mt19937_64 random(1);
  for (const Function& f : kFunctions) {
    std::uniform_real_distribution<double> distribution(f.low, f.high);
    std::vector<double> values(30001);
    for (double& x : values) x = distribution(random);
    EXPECT_GE(ExpectFastKernels(CaseOf(f, values)), 1);
  }
}

TEST(DoubleUnary, AnyBits) {
  std::mt19937_64 random(2);
  std::vector<double> values(30001);
  for (double& x : values) x = std::bit_cast<double>(static_cast<uint64_t>(random()));
  for (const Function& f : kFunctions) EXPECT_GE(ExpectFastKernels(CaseOf(f, values)), 1);
}

TEST(DoubleUnary, SpecialValuesAtEveryLength) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0.0,     -0.0,   kInfinity, -kInfinity, std::nan(""),
                                      1.0,     -1.0,   1e300,     -1e300,     5e-324,
                                      -5e-324, 2e-308, 709.9,     -708.9,     -745.0};
  for (const Function& f : kFunctions) {
    for (size_t count = 0; count <= values.size(); ++count)
      ExpectFastKernels(
          CaseOf(f, {values.begin(), values.begin() + static_cast<ptrdiff_t>(count)}));
  }
}

}  // namespace
}  // namespace onward::kernels
