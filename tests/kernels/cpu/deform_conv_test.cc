// DeformConv of float32 on every instruction set against its formula in double.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using testing::ExpectFastKernels;
using testing::RandomFloats;

struct Geometry {
  int64_t batch, channels, height, width, filters, group, offset_group;
  int64_t kernel[2], stride[2], dilation[2], pad[2];
  bool bias, mask;

  int64_t output(int axis) const {
    const int64_t input = axis == 0 ? height : width;
    return (input + 2 * pad[axis] - dilation[axis] * (kernel[axis] - 1) - 1) / stride[axis] + 1;
  }
};

// The image between its elements; 0 outside.
double Sampled(const float* image, const Geometry& g, double row, double column) {
  const auto top = static_cast<int64_t>(std::floor(row));
  const auto left = static_cast<int64_t>(std::floor(column));
  double sum = 0;
  for (int64_t r = top; r <= top + 1; ++r) {
    for (int64_t c = left; c <= left + 1; ++c) {
      if (r < 0 || r >= g.height || c < 0 || c >= g.width) continue;
      const double weight = (1 - std::abs(row - static_cast<double>(r))) *
                            (1 - std::abs(column - static_cast<double>(c)));
      if (weight > 0) sum += weight * static_cast<double>(image[r * g.width + c]);
    }
  }
  return sum;
}

// One output element: of image n, filter f, at (i, j).
double OutputOf(const Geometry& g, const std::vector<Tensor>& in, int64_t n, int64_t f, int64_t i,
                int64_t j) {
  const int64_t depth = g.channels / g.group, taps = g.kernel[0] * g.kernel[1];
  const int64_t columns = g.output(1), positions = g.output(0) * columns, at = i * columns + j;
  double sum = g.bias ? static_cast<double>(in[3].data<float>()[f]) : 0;
  for (int64_t d = 0; d < depth; ++d) {
    const int64_t c = f / (g.filters / g.group) * depth + d;
    const int64_t first = (n * g.offset_group + c / (g.channels / g.offset_group)) * taps;
    const float* image = in[0].data<float>() + (n * g.channels + c) * g.height * g.width;
    for (int64_t t = 0; t < taps; ++t) {
      const float* offsets = in[2].data<float>() + 2 * (first + t) * positions + at;
      const double row =
          static_cast<double>(i * g.stride[0] - g.pad[0] + t / g.kernel[1] * g.dilation[0]) +
          static_cast<double>(offsets[0]);
      const double column =
          static_cast<double>(j * g.stride[1] - g.pad[1] + t % g.kernel[1] * g.dilation[1]) +
          static_cast<double>(offsets[positions]);
      const double mask =
          g.mask ? static_cast<double>(in[4].data<float>()[(first + t) * positions + at]) : 1.0;
      sum += mask * Sampled(image, g, row, column) *
             static_cast<double>(in[1].data<float>()[(f * depth + d) * taps + t]);
    }
  }
  return sum;
}

Tensor Outputs(const Geometry& g, const std::vector<Tensor>& in) {
  Tensor y(DType::kFloat32, {g.batch, g.filters, g.output(0), g.output(1)});
  int64_t at = 0;
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t f = 0; f < g.filters; ++f)
      for (int64_t i = 0; i < g.output(0); ++i)
        for (int64_t j = 0; j < g.output(1); ++j)
          y.mutable_data<float>()[at++] = static_cast<float>(OutputOf(g, in, n, f, i, j));
  return y;
}

void ExpectOutputs(const Geometry& g, std::mt19937& random, double rtol = 1e-5) {
  const int64_t taps = g.kernel[0] * g.kernel[1] * g.offset_group;
  std::vector<Tensor> in = {
      RandomFloats({g.batch, g.channels, g.height, g.width}, random, -1, 1),
      RandomFloats({g.filters, g.channels / g.group, g.kernel[0], g.kernel[1]}, random, -1, 1),
      RandomFloats({g.batch, 2 * taps, g.output(0), g.output(1)}, random, -3, 3)};
  in.push_back(g.bias ? RandomFloats({g.filters}, random, -1, 1) : Tensor());
  if (g.mask) in.push_back(RandomFloats({g.batch, taps, g.output(0), g.output(1)}, random, 0, 1));
  // Offsets without a fraction, and far outside.
  float* offsets = in[2].mutable_data<float>();
  for (int64_t i = 0; i < in[2].num_elements(); i += 7) offsets[i] = std::round(offsets[i]);
  for (int64_t i = 3; i < in[2].num_elements(); i += 31) offsets[i] *= 1e9f;
  const Tensor y = Outputs(g, in);
  if (in.size() == 4 && !g.bias) in.pop_back();
  cases::OpCase c = {absl::StrCat(DimsString(in[0].dims()), " ", DimsString(in[1].dims()),
                                  " groups ", g.group, ", ", g.offset_group),
                     "DeformConv",
                     "",
                     {{"group", g.group},
                      {"offset_group", g.offset_group},
                      {"strides", std::vector<int64_t>{g.stride[0], g.stride[1]}},
                      {"dilations", std::vector<int64_t>{g.dilation[0], g.dilation[1]}},
                      {"pads", std::vector<int64_t>{g.pad[0], g.pad[1], g.pad[0], g.pad[1]}}},
                     in,
                     {y}};
  c.rtol = c.atol = rtol;
  EXPECT_GE(ExpectFastKernels(c), 1);
}

TEST(DeformConv, ShapesGroupsAndEdges) {
  std::mt19937 random(7);
  const Geometry geometries[] = {
      {1, 16, 32, 32, 16, 1, 1, {3, 3}, {1, 1}, {1, 1}, {0, 0}, false, false},
      {2, 4, 9, 11, 6, 2, 1, {3, 2}, {2, 1}, {1, 2}, {1, 1}, true, true},
      {1, 6, 7, 5, 3, 3, 2, {2, 2}, {1, 1}, {1, 1}, {0, 1}, true, false},
      {1, 4, 6, 6, 4, 1, 4, {3, 3}, {1, 2}, {2, 1}, {2, 1}, false, true},
      {1, 3, 12, 1, 2, 1, 1, {3, 1}, {1, 1}, {1, 1}, {1, 0}, true, true},  // one column
      {1, 3, 1, 12, 2, 1, 1, {1, 3}, {1, 1}, {1, 1}, {0, 1}, true, true},  // one row
      {2, 2, 1, 1, 3, 1, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false, true},
      {1, 2, 0, 3, 3, 1, 1, {1, 1}, {1, 1}, {1, 1}, {1, 0}, true, true},  // no rows but padding
      {1, 2, 0, 3, 3, 1, 1, {1, 1}, {1, 1}, {1, 1}, {1, 0}, false, false},
      {1, 40, 20, 21, 70, 1, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true, true},  // several pieces
  };
  for (const Geometry& g : geometries) ExpectOutputs(g, random, 1e-4);
}

// An element beside a place at the edge does not count.
TEST(DeformConv, InfinityBesideAnEdgeIsNotRead) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::Of<float>({1, 1, 1, 3}, {2, infinity, 4});
  const Tensor w = Tensor::Of<float>({1, 1, 1, 1}, {1});
  const Tensor offset = Tensor::Of<float>({1, 2, 1, 3}, {0, 0, 0, -0.5f, 5, 0.5f});
  const Tensor y = Tensor::Of<float>({1, 1, 1, 3}, {1, 0, 2});
  EXPECT_GE(ExpectFastKernels({"edge", "DeformConv", "", {}, {x, w, offset}, {y}}), 1);
}

}  // namespace
}  // namespace onward::kernels
