// onward.PointwiseDepthwiseConv and onward.ChannelsLastPointwiseDepthwiseConv of every instruction
// set against two convolutions in double.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kernels/cpu/conv_case.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::RandomFloats;

constexpr uint64_t kConstantFilters = 6;  // inputs 1 and 2
constexpr Window kPoint = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};

struct Sizes {
  int64_t batch, channels, expanded, h, w;
};

void Apply(Tensor& tensor, float (*f)(float)) {
  float* values = tensor.mutable_data<float>();
  std::transform(values, values + tensor.num_elements(), values, f);
}

// With a clip to [-1, 1] between the convolutions and a Relu behind.
OpCase PointwiseDepthwiseCase(const Sizes& s, const Window& window, bool bias,
                              std::mt19937& random) {
  OpCase c;
  c.op = "PointwiseDepthwiseConv";
  c.domain = "onward";
  c.atol = 3e-5;
  c.attributes = AttributesOf(window, s.expanded);
  c.attributes.Set("activation", "relu");
  c.attributes.Set("pointwise_activation", "clip");
  c.attributes.Set("pointwise_activation_alpha", -1.0f);
  c.attributes.Set("pointwise_activation_beta", 1.0f);
  const Tensor x = RandomFloats({s.batch, s.channels, s.h, s.w}, random);
  const Tensor v = RandomFloats({s.expanded, s.channels, 1, 1}, random);
  const Tensor w = RandomFloats({s.expanded, 1, window.kernel[0], window.kernel[1]}, random);
  const Tensor a = bias ? RandomFloats({s.expanded}, random) : Tensor();
  const Tensor b = bias ? RandomFloats({s.expanded}, random) : Tensor();
  Tensor expanded = Convolve(x, v, a, 1, kPoint);
  Apply(expanded, [](float value) { return std::clamp(value, -1.0f, 1.0f); });
  Tensor y = Convolve(expanded, w, b, s.expanded, window);
  Apply(y, [](float value) { return std::max(value, 0.0f); });
  c.inputs = {x, w, v, b, a};
  c.expected = {y};
  c.name = absl::StrCat(Describe(c, window, s.expanded), " of ", s.channels, " channels");
  return c;
}

// Runs the case in both layouts, and returns how many kernels ran in each.
int ExpectBothLayouts(OpCase c) {
  const int first = ExpectFastKernels(c, kConstantFilters);
  c.op = "ChannelsLastPointwiseDepthwiseConv";
  c.inputs[0] = Last(c.inputs[0]);
  c.expected[0] = Last(c.expected[0]);
  EXPECT_EQ(ExpectFastKernels(c, kConstantFilters), first);
  return first;
}

TEST(PointwiseDepthwiseConv, RandomWindowsAndSizes) {
  int ran = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const Sizes sizes = {Draw(random, 1, 2), Draw(random, 1, 40), Draw(random, 2, 70),
                         Draw(random, 9, 40), Draw(random, 9, 40)};
    ran += ExpectBothLayouts(
        PointwiseDepthwiseCase(sizes, RandomWindow(random), Draw(random, 0, 1) != 0, random));
  }
  EXPECT_GE(ran, 150);
}

// Bands of rows, images smaller than the filters, channels of several blocks of K.
TEST(PointwiseDepthwiseConv, LargeAndSmallImages) {
  std::mt19937 random(1);
  const Window same = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Window halve = {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  const Window wide = {{5, 5}, {1, 1}, {2, 2}, {4, 4}, {4, 4}};
  const Sizes sizes[] = {{1, 16, 96, 112, 112}, {1, 24, 144, 56, 56}, {1, 160, 70, 7, 7},
                         {2, 1030, 33, 4, 5},   {1, 8, 32, 1, 1},     {1, 3, 2, 2, 90}};
  for (const Sizes& size : sizes) {
    for (const Window& window : {same, halve, wide}) {
      OpCase c = PointwiseDepthwiseCase(size, window, true, random);
      if (size.channels > 1000) c.atol = 2e-4;
      EXPECT_GE(ExpectBothLayouts(c), 1) << c.name;
    }
  }
}

}  // namespace
}  // namespace onward::kernels
