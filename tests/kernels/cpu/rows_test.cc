// Softmax, normalizations and arithmetic of two operands in float32 against double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

TEST(Softmax, AnyAxisAndLength) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const Dims dims = {Draw(random, 1, 5), Draw(random, 1, 90), Draw(random, 1, 150)};
    const int64_t axis = Draw(random, 0, 2);
    const bool log = Draw(random, 0, 1) != 0;
    const Tensor x = RandomFloats(dims, random, -30, 30);
    Tensor y(DType::kFloat32, dims);
    const int64_t inner = NumElements(dims, axis + 1, 3), count = dims[static_cast<size_t>(axis)];
    for (int64_t i = 0; i < x.num_elements() / count; ++i) {
      const int64_t at = i / inner * count * inner + i % inner;
      double top = -1e9, sum = 0;
      for (int64_t k = 0; k < count; ++k)
        top = std::max(top, static_cast<double>(x.data<float>()[at + k * inner]));
      for (int64_t k = 0; k < count; ++k)
        sum += std::exp(static_cast<double>(x.data<float>()[at + k * inner]) - top);
      for (int64_t k = 0; k < count; ++k) {
        const double shifted = static_cast<double>(x.data<float>()[at + k * inner]) - top;
        y.mutable_data<float>()[at + k * inner] =
            static_cast<float>(log ? shifted - std::log(sum) : std::exp(shifted) / sum);
      }
    }
    OpCase c = {DimsString(dims), log ? "LogSoftmax" : "Softmax", "", {{"axis", axis}}, {x}, {y}};
    c.atol = log ? 1e-5 : 1e-9;
    EXPECT_GE(ExpectFastKernels(c), 1);
  }
}

struct Expected {
  Tensor y, mean, inverse;
};

Expected NormalizeRows(const Tensor& x, int64_t columns, bool centered, double epsilon,
                       const Tensor& scale, const Tensor& bias) {
  const int64_t rows = x.num_elements() / columns;
  Expected e = {Tensor(DType::kFloat32, x.dims()), Tensor(DType::kFloat32, {rows, 1}),
                Tensor(DType::kFloat32, {rows, 1})};
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x.data<float>() + r * columns;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < columns && centered; ++i)
      mean += static_cast<double>(row[i]) / static_cast<double>(columns);
    for (int64_t i = 0; i < columns; ++i)
      variance += std::pow(static_cast<double>(row[i]) - mean, 2) / static_cast<double>(columns);
    const double inverse = 1 / std::sqrt(variance + epsilon);
    e.mean.mutable_data<float>()[r] = static_cast<float>(mean);
    e.inverse.mutable_data<float>()[r] = static_cast<float>(inverse);
    for (int64_t i = 0; i < columns; ++i) {
      double y = (static_cast<double>(row[i]) - mean) * inverse *
                 static_cast<double>(scale.data<float>()[i]);
      if (!bias.empty()) y += static_cast<double>(bias.data<float>()[i]);
      e.y.mutable_data<float>()[r * columns + i] = static_cast<float>(y);
    }
  }
  return e;
}

Tensor Sum(const Tensor& a, const Tensor& b) {
  Tensor sum = a.Clone();
  for (int64_t i = 0; i < a.num_elements(); ++i) sum.mutable_data<float>()[i] += b.data<float>()[i];
  return sum;
}

TEST(LayerNormalization, RowsOfEveryLength) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int64_t rows = Draw(random, 1, 20), columns = Draw(random, 1, 300);
    const bool centered = Draw(random, 0, 1) != 0, adds = Draw(random, 0, 1) != 0;
    const bool has_bias = centered && Draw(random, 0, 1) != 0;
    const Tensor x = RandomFloats({rows, columns}, random, -1, 3);
    const Tensor z = RandomFloats({rows, columns}, random);
    const Tensor scale = RandomFloats({columns}, random);
    const Tensor bias = has_bias ? RandomFloats({columns}, random) : Tensor();
    const Tensor sum = adds ? Sum(x, z) : x;
    const Expected e = NormalizeRows(sum, columns, centered, 1e-3, scale, bias);
    OpCase c;
    c.name = absl::StrCat(rows, "x", columns);
    c.op = absl::StrCat(adds ? "Add" : "", centered ? "Layer" : "RMS", "Normalization");
    c.domain = adds ? "onward" : "";
    c.attributes = {{"axis", int64_t{-1}}, {"epsilon", 1e-3f}};
    c.inputs = {x, scale, bias};
    if (adds) c.inputs = {x, z, scale, bias};
    if (!centered) c.inputs.pop_back();
    c.expected = {e.y};
    if (adds && Draw(random, 0, 1) != 0) c.expected.push_back(sum);
    if (!adds && centered) c.expected = {e.y, e.mean, e.inverse};
    c.rtol = c.atol = 2e-5;
    EXPECT_GE(ExpectFastKernels(c), 1);
  }
}

TEST(LayerNormalization, ScaleThatBroadcastsIsLeftToOthers) {
  std::mt19937 random(3);
  const Tensor x = RandomFloats({2, 3, 4}, random), scale = RandomFloats({1}, random);
  OpCase c = {"scalar_scale", "LayerNormalization", "", {}, {x, scale}, {x}};
  EXPECT_EQ(ExpectFastKernels(c), 0);
}

TEST(GroupNormalization, GroupsAndInstances) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const bool instance = Draw(random, 0, 1) != 0;
    const int64_t batch = Draw(random, 1, 3), groups = Draw(random, 1, 4);
    const int64_t per_group = instance ? 1 : Draw(random, 1, 4), spatial = Draw(random, 2, 90);
    const int64_t channels = groups * per_group;
    const Tensor x = RandomFloats({batch, channels, spatial}, random, -1, 3);
    const Tensor scale = RandomFloats({channels}, random), bias = RandomFloats({channels}, random);
    Tensor ones(DType::kFloat32, {per_group * spatial});
    std::fill_n(ones.mutable_data<float>(), ones.num_elements(), 1.0f);
    Tensor y =
        NormalizeRows(x, per_group * spatial, true, 1e-3, ones, Tensor()).y.Reshaped(x.dims());
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const int64_t channel = i / spatial % channels;
      float& value = y.mutable_data<float>()[i];
      value = value * scale.data<float>()[channel] + bias.data<float>()[channel];
    }
    OpCase c = {DimsString(x.dims()),
                instance ? "InstanceNormalization" : "GroupNormalization",
                "",
                {{"epsilon", 1e-3f}},
                {x, scale, bias},
                {y}};
    if (!instance) c.attributes.Set("num_groups", groups);
    c.rtol = c.atol = 3e-5;
    EXPECT_GE(ExpectFastKernels(c), 1);
  }
}

double Compute(const std::string& op, double a, double b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return a / b;
  if (op == "Pow") return std::pow(a, b);
  return a < 0 ? a * b : a;
}

TEST(Binary, Broadcasts) {
  std::mt19937 random(5);
  const std::pair<Dims, Dims> shapes[] = {
      {{5, 40, 7}, {5, 40, 7}}, {{5, 40, 7}, {7}},  {{5, 40, 7}, {40, 1}}, {{5, 40, 7}, {}},
      {{3, 70}, {3, 1}},        {{70000}, {70000}}, {{33}, {1}},           {{0, 3}, {1, 3}}};
  for (const auto& [a_dims, b_dims] : shapes) {
    for (const std::string op : {"Add", "Sub", "Mul", "Div", "Pow", "PRelu"}) {
      const Tensor a = RandomFloats(a_dims, random), b = RandomFloats(b_dims, random, 0.5, 2);
      Tensor y(DType::kFloat32, a_dims), reversed(DType::kFloat32, a_dims);
      const Dims strides = BroadcastStrides(b_dims, a_dims), of_a = Strides(a_dims);
      for (int64_t i = 0; i < a.num_elements(); ++i) {
        int64_t at = 0;
        for (size_t d = 0; d < a_dims.size(); ++d) at += i / of_a[d] % a_dims[d] * strides[d];
        const double left = static_cast<double>(a.data<float>()[i]);
        const double right = static_cast<double>(b.data<float>()[at]);
        y.mutable_data<float>()[i] = static_cast<float>(Compute(op, left, right));
        reversed.mutable_data<float>()[i] = static_cast<float>(Compute(op, right, left));
      }
      const std::string name = DimsString(a_dims) + DimsString(b_dims);
      EXPECT_GE(ExpectFastKernels({name, op, "", {}, {a, b}, {y}}), 1);
      if (op == "PRelu" || op == "Div") continue;
      EXPECT_GE(ExpectFastKernels({"reversed " + name, op, "", {}, {b, a}, {reversed}}), 1);
    }
  }
}

}  // namespace
}  // namespace onward::kernels
