// Convolutions over three spatial axes in float32 against sums in double.
#include <gtest/gtest.h>

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

struct Axis {
  int64_t input, kernel, stride, dilation, begin, end;
  int64_t output() const {
    return (input + begin + end - (kernel - 1) * dilation - 1) / stride + 1;
  }
};

OpCase VolumeCase(int64_t batch, int64_t group, int64_t channels, int64_t filters,
                  const Axis (&axes)[3], bool bias, std::mt19937& random) {
  OpCase c;
  c.op = "Conv";
  c.atol = 3e-5;
  Dims x = {batch, group * channels}, w = {group * filters, channels}, y = {batch, group * filters};
  std::vector<int64_t> strides, dilations, pads(6);
  for (size_t i = 0; i < 3; ++i) {
    x.push_back(axes[i].input);
    w.push_back(axes[i].kernel);
    y.push_back(axes[i].output());
    strides.push_back(axes[i].stride);
    dilations.push_back(axes[i].dilation);
    pads[i] = axes[i].begin;
    pads[i + 3] = axes[i].end;
  }
  c.attributes = {{"group", group}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
  c.inputs = {RandomFloats(x, random), RandomFloats(w, random),
              bias ? RandomFloats({group * filters}, random) : Tensor()};
  c.name = absl::StrCat(DimsString(x), " * ", DimsString(w), " group ", group);
  Tensor result(DType::kFloat32, y);
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    const int64_t positions = y[2] * y[3] * y[4], taps = w[2] * w[3] * w[4];
    const int64_t m = i / positions % y[1], n = i / positions / y[1];
    const int64_t out[3] = {i % positions / (y[3] * y[4]), i / y[4] % y[3], i % y[4]};
    double sum = bias ? static_cast<double>(c.inputs[2].data<float>()[m]) : 0;
    for (int64_t k = 0; k < channels * taps; ++k) {
      const int64_t tap[3] = {k % taps / (w[3] * w[4]), k / w[4] % w[3], k % w[4]};
      int64_t at = n * x[1] + m / filters * channels + k / taps;
      bool inside = true;
      for (int a = 0; a < 3; ++a) {
        const int64_t place = out[a] * axes[a].stride - axes[a].begin + tap[a] * axes[a].dilation;
        inside = inside && place >= 0 && place < axes[a].input;
        at = at * axes[a].input + place;
      }
      if (inside) {
        sum += static_cast<double>(c.inputs[0].data<float>()[at]) *
               static_cast<double>(c.inputs[1].data<float>()[m * channels * taps + k]);
      }
    }
    result.mutable_data<float>()[i] = static_cast<float>(sum);
  }
  c.expected = {std::move(result)};
  return c;
}

TEST(ConvVolume, RandomWindowsGroupsAndSizes) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Axis axes[3];
    for (Axis& axis : axes) {
      axis = {Draw(random, 5, 11), Draw(random, 1, 3), Draw(random, 1, 3),
              Draw(random, 1, 2),  Draw(random, 0, 2), Draw(random, 0, 2)};
    }
    EXPECT_GE(ExpectFastKernels(
                  VolumeCase(Draw(random, 1, 2), Draw(random, 0, 2) ? 1 : Draw(random, 2, 3),
                             Draw(random, 1, 5), Draw(random, 1, 20), axes, seed % 2 != 0, random),
                  2),
              1);
  }
}

// Taps that meet only padding are left out.
TEST(ConvVolume, WideDilationsOnSmallMaps) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Axis axes[3];
    for (Axis& axis : axes) {
      axis = {Draw(random, 1, 6), Draw(random, 2, 3), Draw(random, 1, 2), Draw(random, 1, 9), 0, 0};
      const int64_t reach = (axis.kernel - 1) * axis.dilation;
      axis.begin = Draw(random, 0, reach);
      axis.end = Draw(random, reach - axis.begin, reach);
    }
    ExpectFastKernels(VolumeCase(1, Draw(random, 1, 2), Draw(random, 1, 4), Draw(random, 1, 20),
                                 axes, true, random),
                      2);
  }
}

TEST(ConvVolume, DeepSumsAndWidePlanes) {
  std::mt19937 random(4);
  const Axis deep[3] = {{3, 3, 1, 1, 1, 1}, {4, 3, 1, 1, 1, 1}, {5, 3, 1, 1, 1, 1}};
  OpCase c = VolumeCase(1, 1, 40, 30, deep, true, random);
  c.atol = 1e-4;
  ExpectFastKernels(c, 2);
  const Axis wide[3] = {{2, 1, 1, 1, 0, 0}, {9, 3, 1, 1, 1, 1}, {70, 5, 1, 1, 2, 2}};
  ExpectFastKernels(VolumeCase(2, 1, 3, 13, wide, false, random), 2);
  const Axis point[3] = {{3, 1, 1, 1, 0, 0}, {5, 1, 1, 1, 0, 0}, {7, 1, 1, 1, 0, 0}};
  ExpectFastKernels(VolumeCase(2, 1, 6, 9, point, true, random), 2);
}

}  // namespace
}  // namespace onward::kernels
