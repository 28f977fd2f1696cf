// The best classes as text, as section 15 of the protocol's document has them.
#include "serving/protocol/classification.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onward::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Classification, TheHighestComeFirst) {
  const Tensor scores = Tensor::Of<float>({2, 3}, {0.25f, 0.5f, 0.125f, -1, -3, -2});
  const auto best = BestClasses(scores, 2, {"cat", "dog"});
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_THAT(best->dims(), ElementsAre(2, 2));
  EXPECT_THAT(best->span<std::string>(),
              ElementsAre("0.5:1:dog", "0.25:0:cat", "-1:0:cat", "-2:2"));
}

TEST(Classification, ShapesAndClipping) {
  const auto one = BestClasses(Tensor::Of<int32_t>({3}, {5, 9, 9}), 100, {});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(one->dims(), ElementsAre(3));
  EXPECT_THAT(one->span<std::string>(), ElementsAre("9:1", "9:2", "5:0"));
  EXPECT_THAT(BestClasses(Tensor::Of<float>({1, 2, 1, 1}, {1, 2}), 1, {})->dims(),
              ElementsAre(1, 1));
  EXPECT_THAT(BestClasses(Tensor::Scalar(1.5), 4, {})->span<std::string>(), ElementsAre("1.5:0"));
  EXPECT_THAT(BestClasses(Tensor::Of<float>({0, 4}, {}), 2, {})->dims(), ElementsAre(0, 2));
  EXPECT_THAT(BestClasses(Tensor::Of<float>({2, 0}, {}), 2, {})->dims(), ElementsAre(2, 0));
}

TEST(Classification, WhatCannotBeOrdered) {
  EXPECT_THAT(
      BestClasses(Tensor::Of<float>({4}, {NAN, 1, NAN, HUGE_VALF}), 4, {})->span<std::string>(),
      ElementsAre("Infinity:3", "1:1", "NaN:0", "NaN:2"));
  EXPECT_THAT(BestClasses(Tensor::Of<Float16>({2}, {Float16(0.5f), Float16(2.0f)}), 1, {})
                  ->span<std::string>(),
              ElementsAre("2:1"));
  const auto text = BestClasses(Tensor::Of<std::string>({1}, {"a"}), 1, {});
  EXPECT_TRUE(absl::IsInvalidArgument(text.status()));
  EXPECT_THAT(std::string(text.status().message()), HasSubstr("not BYTES"));
  EXPECT_FALSE(BestClasses(Tensor::Of<bool>({1}, {true}), 1, {}).ok());
}

}  // namespace
}  // namespace onward::serving
