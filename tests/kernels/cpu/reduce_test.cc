// The reductions of float32 over any axes, by the kernels of every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::RandomFloats;

int64_t Draw(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

constexpr const char* kSums[] = {"ReduceSum", "ReduceMean",      "ReduceL1",
                                 "ReduceL2",  "ReduceSumSquare", "ReduceLogSum"};
bool IsSum(const std::string& op) {
  return std::find(std::begin(kSums), std::end(kSums), op) != std::end(kSums);
}

double Addend(const std::string& op, double value) {
  if (op == "ReduceL1") return std::fabs(value);
  return op == "ReduceL2" || op == "ReduceSumSquare" ? value * value : value;
}

double Sum(const std::string& op, const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += Addend(op, v);
  if (op == "ReduceMean") return sum / static_cast<double>(values.size());
  if (op == "ReduceL2") return std::sqrt(sum);
  return op == "ReduceLogSum" ? std::log(sum) : sum;
}

// Rounding is relative to what is added.
double Magnitude(const std::string& op, const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::fabs(Addend(op, v));
  return op == "ReduceMean" ? sum / static_cast<double>(values.size()) : sum;
}

double Combine(const std::string& op, const std::vector<double>& values) {
  if (IsSum(op)) return Sum(op, values);
  double top = op == "ReduceMin" ? std::numeric_limits<double>::infinity()
                                 : -std::numeric_limits<double>::infinity();
  for (const double v : values) {
    if (v != v) return v;
    top = op == "ReduceMin" ? std::min(top, v) : std::max(top, v);
  }
  if (op != "ReduceLogSumExp" || std::isinf(top)) return top;
  double sum = 0;
  for (const double v : values) sum += std::exp(v - top);
  return std::log(sum) + top;
}

// Over the axes with their bit set in `axes`.
OpCase ReduceCase(const std::string& op, const Tensor& x, int axes) {
  const DimsView dims = x.dims();
  Dims kept(dims.begin(), dims.end());
  std::vector<int64_t> list;
  for (int i = 0; i < 4; ++i) {
    if (axes >> i & 1) kept[static_cast<size_t>(i)] = 1, list.push_back(i);
  }
  const Dims strides = Strides(kept);
  std::vector<std::vector<double>> values(static_cast<size_t>(NumElements(kept)));
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    int64_t rest = i, at = 0;
    for (size_t d = 4; d-- > 0; rest /= dims[d])
      at += kept[d] == 1 ? 0 : rest % dims[d] * strides[d];
    values[static_cast<size_t>(at)].push_back(static_cast<double>(x.data<float>()[i]));
  }
  Tensor y(DType::kFloat32, kept);
  double most = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    y.mutable_data<float>()[i] = static_cast<float>(Combine(op, values[i]));
    most = std::max(most, Magnitude(op, values[i]));
  }
  const Tensor axes_input = Tensor::Of<int64_t>({static_cast<int64_t>(list.size())}, list);
  return {absl::StrCat(op, " ", DimsString(dims), " axes ", axes),
          op,
          "",
          {},
          {x, axes_input},
          {y},
          op == "ReduceLogSumExp" ? 4e-7
          : IsSum(op)             ? 1e-6
                                  : 0,
          op == "ReduceLogSumExp"                   ? 1e-6
          : op == "ReduceSum" || op == "ReduceMean" ? 3e-7 * most
                                                    : 0};
}

TEST(Reduce, AnyAxes) {
  for (unsigned seed = 0; seed < 180; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const char* ops[] = {"ReduceMax", "ReduceMin", "ReduceLogSumExp"};
    const std::string op = seed % 3 == 2 ? kSums[seed / 3 % 6] : ops[seed / 3 % 3];
    const Dims dims = {Draw(random, 1, 4), Draw(random, 1, 40), Draw(random, 1, 6),
                       Draw(random, 1, 90)};
    const Tensor x = RandomFloats(dims, random, op == "ReduceLogSum" ? 1 : -30, 30);
    EXPECT_GE(ExpectFastKernels(ReduceCase(op, x, static_cast<int>(Draw(random, 1, 15))), 2), 1);
  }
  std::mt19937 random(1);
  const Tensor wide = RandomFloats({1, 3, 2, 700}, random, -3, 3);
  const Tensor tall = RandomFloats({2, 1100, 1, 5}, random, -3, 3);
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceSum", "ReduceMean",
                         "ReduceL1", "ReduceL2", "ReduceSumSquare"}) {
    EXPECT_GE(ExpectFastKernels(ReduceCase(op, wide, 2), 2), 1);
    EXPECT_GE(ExpectFastKernels(ReduceCase(op, tall, 2), 2), 1);
    EXPECT_GE(ExpectFastKernels(ReduceCase(op, wide, 8), 2), 1);
  }
}

TEST(Reduce, SpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceSum", "ReduceL1"}) {
    for (const int64_t length : {2, 16, 17, 64, 70, 135}) {
      for (int64_t place = 0; place < length; place += 5) {
        for (const float special : {kInfinity, -kInfinity, nan}) {
          std::mt19937 random(3);
          Tensor x = RandomFloats({1, 2, length, 1}, random);
          x.mutable_data<float>()[place] = special;
          ExpectFastKernels(ReduceCase(op, x, 4), 2);
          ExpectFastKernels(ReduceCase(op, x.Reshaped({1, length, 2, 1}), 2), 2);
        }
      }
    }
    const Tensor none = Tensor::Of<float>({1, 1, 3, 1}, {-kInfinity, -kInfinity, -kInfinity});
    ExpectFastKernels(ReduceCase(op, none, 4), 2);
  }
}

}  // namespace
}  // namespace onward::kernels
