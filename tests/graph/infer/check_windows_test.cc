// Lists of windows' attributes that contradict each other or the shapes, known or not.
#include "graph/infer/check_windows.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

// Of an input whose rank is not known.
std::string Refusal(const std::string& node) {
  const auto model = testing::ModelFromText(
      "g (float[n] v, int64[r] shape) => (float[a, b] y)"
      "<float[1,1,2,2] w = {1, 2, 3, 4}> { x = Reshape(v, shape) " +
      node + " y = Flatten(z) }");
  return std::string(model.status().message());
}

TEST(CheckWindows, ListsOfOtherLengths) {
  EXPECT_THAT(Refusal("z = Conv <strides = [1]> (x, w)"),
              HasSubstr("the weight has 2 spatial axes, strides 1"));
  EXPECT_THAT(Refusal("z = Conv <dilations = [1, 1, 1]> (x, w)"), HasSubstr("dilations 3"));
  EXPECT_THAT(Refusal("z = Conv <pads = [1, 1, 1]> (x, w)"),
              HasSubstr("pads has 3 elements, must have two for each axis"));
  EXPECT_THAT(Refusal("z = ConvTranspose <output_padding = [1]> (x, w)"),
              HasSubstr("output_padding 1"));
  EXPECT_THAT(Refusal("z = ConvTranspose <output_shape = [9]> (x, w)"),
              HasSubstr("output_shape has 1 elements for 2 spatial axes"));
  EXPECT_THAT(Refusal("z = MaxPool <kernel_shape = [2, 2], strides = [2]> (x)"),
              HasSubstr("kernel_shape has 2 spatial axes, strides 1"));
  EXPECT_THAT(Refusal("z = AveragePool <kernel_shape = [2, 0]> (x)"),
              HasSubstr("kernel_shape has an element below 1"));
}

TEST(CheckWindows, OtherLists) {
  EXPECT_THAT(Refusal("z = Transpose <perm = [0, 2]> (x)"),
              HasSubstr("perm [0, 2] does not name each axis from 0 to 1 once"));
  EXPECT_THAT(Refusal("z = Transpose <perm = [1, 1]> (x)"), HasSubstr("does not name each axis"));
  EXPECT_THAT(Refusal("z = Transpose <perm = [-1, 0]> (x)"), HasSubstr("does not name each axis"));
  EXPECT_THAT(Refusal("z = MaxRoiPool <pooled_shape = [2]> (x, x)"),
              HasSubstr("pooled_shape must be two numbers"));
}

TEST(CheckWindows, WhatFits) {
  for (const char* node :
       {"z = Conv (x, w)", "z = Conv <strides = [1, 2], pads = [0, 1, 0, 1]> (x, w)",
        "z = ConvTranspose <output_shape = [1, 1, 9, 9]> (x, w)",
        "z = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)"}) {
    EXPECT_EQ(Refusal(node), "") << node;
  }
}

}  // namespace
}  // namespace onward
