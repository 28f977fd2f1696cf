// The float32 convolutions of every instruction set against sums in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/kernels/cpu/conv_case.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::ExpectFastKernels;
using testing::ExpectNamedKernels;
using testing::ExpectWinogradKernels;
using testing::RandomBFloats;
using testing::RandomFloats;

void AddResidualAndRelu(OpCase& c, std::mt19937& random) {
  c.op = "FusedConv";
  c.domain = "onward";
  c.attributes.Set("activation", "relu");
  c.inputs.push_back(RandomFloats(c.expected[0].dims(), random));
  for (int64_t i = 0; i < c.expected[0].num_elements(); ++i) {
    float& y = c.expected[0].mutable_data<float>()[i];
    y = std::max(0.0f, y + c.inputs[3].data<float>()[i]);
  }
}

TEST(Conv, PairsOfBFloat16) {
  if (testing::NumBf16Targets() == 0) GTEST_SKIP() << "no AVX512-BF16";
  int ran = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Window window = RandomWindow(random);
    if (seed % 3 == 0) window = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
    const int64_t h = Draw(random, 12, 20), w = Draw(random, 12, 60);
    const int64_t channels = seed % 4 == 0 ? Draw(random, 15, 90) : Draw(random, 1, 9);
    ran += ExpectFastKernels(
        ConvCase(Draw(random, 1, 3), Draw(random, 1, 2), channels, Draw(random, 8, 40), h, w,
                 window, Draw(random, 0, 1) != 0, random, RandomBFloats),
        2, Precision::kFast);
  }
  EXPECT_EQ(ran, 300 * testing::NumBf16Targets());
}

TEST(Conv, RandomWindowsGroupsAndSizes) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const Window window = RandomWindow(random);
    const int64_t smallest = 9;  // the largest window
    ExpectFastKernels(ConvCase(Draw(random, 1, 2), Draw(random, 0, 2) ? 1 : Draw(random, 2, 4),
                               Draw(random, 1, 9), Draw(random, 1, 40), Draw(random, smallest, 24),
                               Draw(random, smallest, 40), window, Draw(random, 0, 1) != 0, random),
                      2);
  }
}

TEST(Conv, SmallMapsWithManyFilters) {
  std::mt19937 random(7);
  const Window same = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Window point = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  const Window halve = {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  for (const Window& window : {same, point, halve}) {
    for (int64_t size : {1, 2, 3, 7, 14}) {
      for (int64_t filters : {32, 33, 70}) {
        EXPECT_GE(
            ExpectFastKernels(ConvCase(2, 1, 64, filters, size, size, window, true, random), 2), 2);
      }
    }
  }
}

// Tiles that reach over the border, images of a few tiles and of several blocks of them.
TEST(Conv, Winograd) {
  int ran = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Window window = {{3, 3}, {1, 1}, {1, 1}, {}, {}};
    for (int i = 0; i < 2; ++i) {
      window.begin[i] = Draw(random, 0, 3);
      window.end[i] = Draw(random, 0, 3);
    }
    const int64_t most = seed % 5 == 0 ? 60 : 16;
    OpCase c = ConvCase(Draw(random, 1, 3), 1, Draw(random, 16, 40), Draw(random, 16, 70),
                        Draw(random, 3, most), Draw(random, 3, most), window,
                        Draw(random, 0, 1) != 0, random);
    c.atol = 5e-5;  // sums of up to 360 products from [-1, 1]
    if (seed % 2 == 0) AddResidualAndRelu(c, random);
    ran += ExpectWinogradKernels(c, 2);
    ran += ExpectWinogradKernels(c, 0);  // filters that are transformed in each run
  }
  EXPECT_GE(ran, 200);
}

// Images that the dilations divide and others; padding of whole dilations.
TEST(Conv, WinogradOfDilatedTaps) {
  int ran = 0;
  for (unsigned seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Window window = {{3, 3}, {1, 1}, {1, 1}, {}, {}};
    window.dilation[seed % 2] = Draw(random, 2, 5);
    window.dilation[1 - seed % 2] = Draw(random, 1, 4);
    for (int i = 0; i < 2; ++i) {
      window.begin[i] = window.dilation[i] * Draw(random, 0, 2);
      window.end[i] = window.dilation[i] * 2 - window.begin[i] + Draw(random, 0, 1);
    }
    const int64_t most = seed % 3 == 0 ? 60 : 30;
    OpCase c = ConvCase(Draw(random, 1, 2), 1, Draw(random, 16, 40), Draw(random, 16, 70),
                        Draw(random, 3, most), Draw(random, 3, most), window,
                        Draw(random, 0, 1) != 0, random);
    c.atol = 5e-5;  // sums of up to 360 products from [-1, 1]
    if (seed % 4 < 2) AddResidualAndRelu(c, random);
    ran += ExpectNamedKernels(c, "winograd", 2);
  }
  EXPECT_GE(ran, 60);
}

// Rows that begin and end in the padding, of one and of several panels of filters.
TEST(Conv, Direct) {
  int ran = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Window window = RandomWindow(random);
    window.kernel[0] = Draw(random, 2, 5);
    window.stride[1] = Draw(random, 1, 2);
    window.dilation[1] = 1;
    const int64_t most = seed % 3 == 0 ? 80 : 16;
    OpCase c = ConvCase(Draw(random, 1, 2), Draw(random, 0, 2) ? 1 : Draw(random, 2, 3),
                        Draw(random, 5, 20), Draw(random, most / 2, most), Draw(random, 9, 60),
                        Draw(random, 9, 60), window, Draw(random, 0, 1) != 0, random);
    c.atol = 5e-5;  // sums of up to 500 products from [-1, 1]
    if (seed % 2 == 0) AddResidualAndRelu(c, random);
    ran += ExpectNamedKernels(c, "direct_conv", 2);
  }
  EXPECT_GE(ran, 50);
}

TEST(Conv, FewFilters) {
  int ran = 0;
  for (unsigned seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Window window = RandomWindow(random);
    window.kernel[1] = Draw(random, 2, 5);
    const int64_t width = seed % 4 == 0 ? Draw(random, 150, 600) : Draw(random, 20, 150);
    window.stride[1] = Draw(random, 1, 2);
    OpCase c = ConvCase(Draw(random, 1, 2), Draw(random, 0, 2) ? 1 : Draw(random, 2, 3),
                        Draw(random, 5, 12), Draw(random, 1, 6), Draw(random, 9, 20), width, window,
                        Draw(random, 0, 1) != 0, random);
    c.atol = 5e-5;  // sums of up to 300 products from [-1, 1]
    if (seed % 2 == 0) AddResidualAndRelu(c, random);
    ran += ExpectNamedKernels(c, "few_filters", 2);
  }
  EXPECT_GE(ran, 80);
}

// Taps that meet only padding are left out.
TEST(Conv, WideDilationsOnSmallMaps) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Window window;
    for (int i = 0; i < 2; ++i) {
      window.kernel[i] = Draw(random, 2, 4);
      window.stride[i] = Draw(random, 1, 2);
      window.dilation[i] = Draw(random, 1, 12);
      const int64_t reach = (window.kernel[i] - 1) * window.dilation[i];
      window.begin[i] = Draw(random, 0, reach);
      window.end[i] = Draw(random, reach - window.begin[i], reach);
    }
    ExpectFastKernels(ConvCase(Draw(random, 1, 2), Draw(random, 0, 2) ? 1 : Draw(random, 2, 4),
                               Draw(random, 1, 9), Draw(random, 1, 40), Draw(random, 1, 14),
                               Draw(random, 1, 20), window, Draw(random, 0, 1) != 0, random),
                      2);
  }
}

TEST(Conv, DeepSumsAreCutIntoBlocks) {
  std::mt19937 random(8);
  const Window same = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Window point = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  for (int64_t size : {7, 14, 20}) {
    OpCase deep = ConvCase(1, 1, 130, 64, size, size, same, true, random);
    deep.atol = 1e-4;
    ExpectFastKernels(deep, 2);
    OpCase pointwise = ConvCase(1, 1, 700, 64, size, size, point, false, random);
    pointwise.atol = 1e-4;
    ExpectFastKernels(pointwise, 2);
  }
  ExpectFastKernels(ConvCase(1, 1, 16, 72, 40, 40, point, true, random), 2);
}

TEST(Conv, OneSpatialAxis) {
  std::mt19937 random(9);
  for (unsigned seed = 0; seed < 30; ++seed) {
    Window window = RandomWindow(random);
    window.kernel[0] = window.stride[0] = window.dilation[0] = 1;
    window.begin[0] = window.end[0] = 0;
    OpCase c = ConvCase(2, 1, Draw(random, 1, 9), Draw(random, 1, 40), 1, Draw(random, 9, 90),
                        window, true, random);
    for (const char* name : {"kernel_shape", "strides", "dilations"})
      c.attributes.Set(name, std::vector<int64_t>{c.attributes.Ints(name)[1]});
    c.attributes.Set("pads", std::vector<int64_t>{window.begin[1], window.end[1]});
    for (Tensor* t : {&c.inputs[0], &c.inputs[1], &c.expected[0]})
      *t = t->Reshaped({t->dims()[0], t->dims()[1], t->dims()[3]});
    ExpectFastKernels(c, 2);
  }
}

TEST(Conv, Depthwise) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    OpCase c = ConvCase(Draw(random, 1, 2), Draw(random, 2, 9), 1, Draw(random, 0, 3) ? 1 : 2,
                        Draw(random, 9, 40), Draw(random, 9, 70), RandomWindow(random),
                        Draw(random, 0, 1) != 0, random);
    ExpectFastKernels(c, 2);
    if (seed % 5 != 0) continue;
    AddResidualAndRelu(c, random);
    ExpectFastKernels(c, 2);
  }
}

// Strips of one vector to several, and rows that do not fill the last group of them.
TEST(Conv, DepthwiseOfSquareWindowsInStrips) {
  for (unsigned seed = 0; seed < 90; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const int64_t side = 1 + 2 * (seed % 5), dilation = Draw(random, 1, 4) / 4 + 1;
    const int64_t pad = Draw(random, 0, side / 2 * dilation);
    const Window window = {{side, side}, {1, 1}, {dilation, dilation}, {pad, pad}, {pad, pad}};
    const int64_t least = (side - 1) * dilation + 1;
    OpCase c = ConvCase(1, Draw(random, 1, 3), 1, 1, Draw(random, least, least + 20),
                        Draw(random, least + 12, least + 90), window, true, random);
    c.atol = 5e-5;  // sums of up to 81 products from [-1, 1]
    ExpectFastKernels(c, 2);
  }
}

TEST(Conv, DepthwiseOfLargeMapsIsCutIntoBands) {
  std::mt19937 random(11);
  const Window same = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Window halve = {{5, 5}, {2, 2}, {1, 1}, {2, 2}, {2, 2}};
  for (const Window& window : {same, halve})
    EXPECT_GE(ExpectFastKernels(ConvCase(1, 3, 1, 1, 112, 112, window, true, random), 2), 2);
}

TEST(FusedConv, ResidualAndActivations) {
  std::mt19937 random(10);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::pair<std::string, std::function<double(double)>> activations[] = {
      {"", [](double x) { return x; }},
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"clip", [](double x) { return std::clamp(x, -0.5, 0.75); }},
      {"leaky_relu", [](double x) { return x < 0 ? -0.5 * x : x; }},
      {"sigmoid", sigmoid},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"gelu", [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }},
      {"gelu_tanh",
       [](double x) {
         return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
       }},
      {"silu", [&](double x) { return x * sigmoid(x); }},
      {"hard_swish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"hard_sigmoid", [](double x) { return std::clamp(-0.5 * x + 0.75, 0.0, 1.0); }},
  };
  struct Size {
    int64_t group, channels, filters, h, w, dilation;
  };
  constexpr Size kSizes[] = {
      {1, 16, 40, 7, 7, 1}, {1, 16, 40, 19, 19, 1}, {6, 1, 6, 5, 67, 1}, {1, 16, 48, 7, 7, 5}};
  for (const auto& [name, f] : activations) {
    for (const Size& size : kSizes) {
      const int64_t d = size.dilation;
      const Window window = {{3, 3}, {1, 1}, {d, d}, {d, d}, {d, d}};
      OpCase c = ConvCase(1, size.group, size.channels, size.filters, size.h, size.w, window, true,
                          random);
      c.op = "FusedConv";
      c.domain = "onward";
      c.name += name;
      c.attributes.Set("activation", name);
      c.attributes.Set("activation_alpha", -0.5f);
      c.attributes.Set("activation_beta", 0.75f);
      OpCase residual = c;
      residual.inputs.push_back(RandomFloats(c.expected[0].dims(), random));
      residual.expected[0] = Tensor(DType::kFloat32, c.expected[0].dims());
      for (int64_t i = 0; i < c.expected[0].num_elements(); ++i) {
        float& y = c.expected[0].mutable_data<float>()[i];
        residual.expected[0].mutable_data<float>()[i] = static_cast<float>(
            f(static_cast<double>(y) + static_cast<double>(residual.inputs[3].data<float>()[i])));
        y = static_cast<float>(f(static_cast<double>(y)));
      }
      EXPECT_GE(ExpectFastKernels(c, 2), 2);
      EXPECT_GE(ExpectFastKernels(residual, 2), 2);
    }
  }
}

// Panels of pixels that lie in two images; sums in several blocks.
TEST(FusedConv, PairsOfBFloat16) {
  if (testing::NumBf16Targets() == 0) GTEST_SKIP() << "no AVX512-BF16";
  std::mt19937 random(12);
  const Window same = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Window point = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  for (int64_t size : {7, 19}) {
    for (int64_t channels : {16, 131, 1100}) {
      OpCase c = ConvCase(3, 1, channels, 40, size, size, channels > 1000 ? point : same, true,
                          random, RandomBFloats);
      c.op = "FusedConv";
      c.domain = "onward";
      c.attributes.Set("activation", "clip");
      c.attributes.Set("activation_alpha", -0.5f);
      c.attributes.Set("activation_beta", 0.75f);
      c.inputs.push_back(RandomFloats(c.expected[0].dims(), random));
      for (int64_t i = 0; i < c.expected[0].num_elements(); ++i) {
        float& y = c.expected[0].mutable_data<float>()[i];
        y = std::clamp(y + c.inputs[3].data<float>()[i], -0.5f, 0.75f);
      }
      c.atol = 1e-4;
      EXPECT_EQ(ExpectFastKernels(c, 2, Precision::kFast), 2 * testing::NumBf16Targets());
    }
  }
}

}  // namespace
}  // namespace onward::kernels
