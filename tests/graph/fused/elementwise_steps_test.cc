// Steps of elementwise groups as text.
#include "graph/fused/elementwise_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "onward/graph.h"
#include "tests/support/text_model.h"

namespace onward::fused {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Attributes Group(std::vector<std::string> steps, std::vector<int64_t> results) {
  return {{"steps", std::move(steps)}, {"results", std::move(results)}};
}

TEST(ElementwiseSteps, AreReadAsTheyWereWritten) {
  const ElementwiseStep step = {
      "IsInf", "", {{"detect_negative", int64_t{0}}, {"detect_positive", int64_t{-3}}}, {2}};
  const ElementwiseStep other = {"Gelu", "", {{"approximate", std::string("tanh")}}, {0}};
  const ElementwiseStep selu = {"Selu", "", {{"alpha", 1.0f / 3}, {"gamma", -1e-20f}}, {1}};
  const ElementwiseStep bounds = {"ClipGradient", "onward", {}, {0, 1, -1, 2}};
  const auto steps = ReadSteps(
      Group({*StepText(step), *StepText(other), *StepText(selu), *StepText(bounds)}, {6, 3}), 3, 2);
  ASSERT_TRUE(steps.ok()) << steps.status();
  const ElementwiseStep* expected[] = {&step, &other, &selu, &bounds};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ((*steps)[i].op, expected[i]->op);
    EXPECT_EQ((*steps)[i].domain, expected[i]->domain);
    EXPECT_EQ((*steps)[i].operands, expected[i]->operands);
    EXPECT_TRUE((*steps)[i].attributes == expected[i]->attributes) << i;
  }
}

TEST(ElementwiseSteps, HaveNoTextForOtherAttributes) {
  EXPECT_FALSE(StepText({"Elu", "", {{"alpha", std::numeric_limits<float>::infinity()}}, {0}}));
  EXPECT_FALSE(StepText({"Elu", "", {{"axes", std::vector<int64_t>{1}}}, {0}}));
  EXPECT_FALSE(StepText({"Elu", "", {{"mode", std::string("a b")}}, {0}}));
}

TEST(ElementwiseSteps, ThatAreWrongAreRefused) {
  for (const char* text : {"", "Add", "Add 0", "Add 0 2", "Add 0 -1", "Add _ 0", "Add 0 1 1",
                           "Softmax 0", "Elu( 0", "Elu(alpha=) 0", "Elu(alpha) 0",
                           "Elu(alpha=1x) 0", "other.Add 0 1", "Add 0 1 ", "Add 0 a"}) {
    const auto steps = ReadSteps(Group({text}, {2}), 2, 1);
    EXPECT_EQ(steps.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(steps.status().message()),
                HasSubstr("is not an elementwise op with values before it"));
  }
  EXPECT_EQ(ReadSteps(Group({"Add 0 1"}, {1}), 2, 1).status().message(),
            "result 1 is no step's: these have the numbers from 2 to 2");
  EXPECT_EQ(ReadSteps(Group({"Add 0 1"}, {2, 2}), 2, 1).status().message(),
            "it has 2 results, but 1 outputs");
}

}  // namespace
}  // namespace onward::fused
