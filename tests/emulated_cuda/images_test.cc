// Convolution and pooling of images, in every float.
#include "tests/emulated_cuda/compared_operator.h"

namespace onward::emulated_cuda {
namespace {

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};

struct ConvCase {
  Dims x, w, y;
  const char* attributes;
};

TEST(EmulatedImages, ConvIsTheCpus) {
  const ConvCase cases[] = {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, ""},
      {{2, 3, 7, 5}, {4, 3, 3, 3}, {2, 4, 7, 5}, "<pads = [1, 1, 1, 1]>"},
      {{1, 4, 9, 8}, {6, 2, 3, 2}, {1, 6, 4, 4}, "<strides = [2, 2], group = 2>"},
      {{1, 2, 11, 11}, {2, 1, 3, 3}, {1, 2, 7, 7}, "<dilations = [2, 2], group = 2>"},
      {{2, 3, 9}, {4, 3, 3}, {2, 4, 5}, "<pads = [1, 1], strides = [2]>"},
      {{2, 5, 3, 4}, {6, 5, 1, 1}, {2, 6, 3, 4}, ""},
      {{3, 5, 7}, {2, 5, 1}, {3, 2, 7}, ""},
      {{1, 4, 5, 5}, {4, 2, 1, 1}, {1, 4, 5, 5}, "<group = 2>"},
      {{2, 3, 6, 7}, {3, 1, 3, 3}, {2, 3, 6, 7}, "<group = 3, pads = [1, 1, 1, 1]>"},
      {{1, 2, 9, 9},
       {4, 1, 5, 3},
       {1, 4, 4, 5},
       "<group = 2, strides = [2, 2], pads = [1, 0, 2, 2]>"},
      {{2, 3, 11}, {3, 1, 3}, {2, 3, 7}, "<group = 3, dilations = [2]>"},
  };
  for (const DType dtype : kFloats) {
    for (const ConvCase& one : cases) {
      for (const bool has_bias : {false, true}) {
        std::vector<Tensor> inputs = {Filled({dtype, one.x}, 1, false),
                                      Filled({dtype, one.w}, 2, false)};
        if (has_bias) inputs.push_back(Filled({dtype, {one.w[0]}}, 3, false));
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, one.y}), " y) { y = Conv ", one.attributes,
                                 has_bias ? " (a, b, c) }" : " (a, b) }"),
                    inputs, 20 * ToleranceOf(dtype));
      }
    }
  }
}

// A residual and an activation become parts of the convolution.
TEST(EmulatedImages, FusedConvIsTheCpus) {
  for (const DType dtype : kFloats) {
    for (const auto& [plane, side] :
         {std::pair<Dims, int64_t>{{5, 7}, 3}, {{4, 8}, 3}, {{5, 7}, 1}, {{4, 8}, 1}}) {
      const int64_t pad = side / 2;
      const Dims x = {2, 3, plane[0], plane[1]}, y = {2, 4, plane[0], plane[1]};
      const std::vector<Tensor> inputs = {
          Filled({dtype, x}, 1, false), Filled({dtype, {4, 3, side, side}}, 2, false),
          Filled({dtype, {4}}, 3, false), Filled({dtype, y}, 4, false)};
      const std::string begin =
          absl::StrCat("(", TextOf({dtype, y}),
                       " y) { low = Constant <value_float = -1.0> () "
                       "high = Constant <value_float = 6.0> () "
                       "k = Conv <pads = [",
                       pad, ", ", pad, ", ", pad, ", ", pad, "]> (a, b, c) s = Add (k, d) ");
      for (const char* activation : {"Relu", "LeakyRelu", "HardSwish", "Sigmoid"})
        ExpectAsCpu(absl::StrCat(begin, "y = ", activation, " (s) }"), inputs,
                    20 * ToleranceOf(dtype));
      if (dtype == DType::kFloat32)
        ExpectAsCpu(begin + "y = Clip (s, low, high) }", inputs, 20 * ToleranceOf(dtype));
    }
  }
}

TEST(EmulatedImages, WhatFollowsAConvolutionIsItsKernels) {
  const std::string graph =
      "(float16[1, 4, 5, 5] y) { k = Conv <pads = [1, 1, 1, 1]> (a, b, c) s = Add (k, d) "
      "y = Relu (s) }";
  const std::vector<Tensor> inputs = {Filled({DType::kFloat16, {1, 3, 5, 5}}, 1, false),
                                      Filled({DType::kFloat16, {4, 3, 3, 3}}, 2, false),
                                      Filled({DType::kFloat16, {4}}, 3, false),
                                      Filled({DType::kFloat16, {1, 4, 5, 5}}, 4, false)};
  ResetCounters();
  ASSERT_TRUE(RunOn("cuda", graph, inputs).ok());
  EXPECT_EQ(Counted().convolutions, 1);
  EXPECT_EQ(Counted().launches, 0);
}

TEST(EmulatedImages, PoolsAreTheCpus) {
  const Operand cases[] = {{DType::kFloat32, {1, 1, 3, 3}}, {DType::kFloat32, {2, 3, 8, 6}}};
  for (const DType dtype : kFloats) {
    for (const Operand& one : cases) {
      const Tensor x = Filled({dtype, one.dims}, 1, false);
      const Dims &d = one.dims, windows = {d[0], d[1], d[2], d[3]}, whole = {d[0], d[1], 1, 1};
      for (const char* op : {"MaxPool", "AveragePool"}) {
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, windows}), " y) { y = ", op,
                                 " <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a) }"),
                    {x}, 2 * ToleranceOf(dtype));
      }
      for (const char* op : {"GlobalMaxPool", "GlobalAveragePool"}) {
        ExpectAsCpu(absl::StrCat("(", TextOf({dtype, whole}), " y) { y = ", op, " (a) }"), {x},
                    2 * ToleranceOf(dtype));
      }
    }
  }
}

TEST(EmulatedImages, MaxPoolsOfAnyWindowAreTheCpus) {
  const ConvCase cases[] = {
      {{1, 2, 9},
       {},
       {1, 2, 5},
       "<kernel_shape = [3], strides = [2], ceil_mode = 1, pads = [0, 1]>"},
      {{2, 3, 7, 8}, {}, {2, 3, 3, 4}, "<kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1>"},
      {{1, 2, 6, 6}, {}, {1, 2, 7, 5}, "<kernel_shape = [2, 3], pads = [1, 0, 1, 1]>"},
      {{1, 1, 7, 7}, {}, {1, 1, 3, 3}, "<kernel_shape = [3, 3], dilations = [2, 2]>"},
      {{1, 2, 4, 5, 6}, {}, {1, 2, 3, 4, 5}, "<kernel_shape = [2, 2, 2]>"},
      {{1, 1, 5, 5}, {}, {1, 1, 5, 5}, "<kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\">"},
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt8}) {
    for (const ConvCase& one : cases) {
      ExpectAsCpu(
          absl::StrCat("(", TextOf({dtype, one.y}), " y) { y = MaxPool ", one.attributes, " (a) }"),
          {Filled({dtype, one.x}, 1, dtype == DType::kFloat32)}, 0);
      std::string attributes = one.attributes;
      for (const char* order : {"", ", storage_order = 1>"}) {
        if (*order != 0) attributes.replace(attributes.size() - 1, 1, order);
        ExpectAsCpu(
            absl::StrCat("(", TextOf({dtype, one.y}), " y, ", TextOf({DType::kInt64, one.y}),
                         " z) { y, z = MaxPool ", attributes, " (a) }"),
            {Filled({dtype, one.x}, 1, dtype == DType::kFloat32)}, 0);
      }
    }
  }
}

}  // namespace
}  // namespace onward::emulated_cuda
