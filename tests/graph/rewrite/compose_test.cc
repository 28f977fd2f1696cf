#include "graph/rewrite/compose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ir/verify.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using ::testing::HasSubstr;
using testing::ModelFromText;
using testing::Nodes;

CompositionStep Step(const std::string& name, const std::string& text,
                     std::map<std::string, std::string> inputs,
                     std::map<std::string, std::string> outputs) {
  auto model = ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  return {name, *std::move(model), std::move(inputs), std::move(outputs)};
}

constexpr char kTwice[] = "g (float[N, 2] x) => (float[N, 2] y) { y = Add(x, x) }";
constexpr char kSum[] =
    "g (float[N, K] x) => (float[N, 1] y) <int64[1] a = {1}> "
    "{ y = ReduceSum(x, a) }";

std::string ErrorOf(Composition composition) {
  const auto composed = Compose(std::move(composition));
  EXPECT_TRUE(absl::IsInvalidArgument(composed.status())) << composed.status();
  return std::string(composed.status().message());
}

TEST(Compose, WhatOneMakesTheNextReads) {
  // The steps come in the wrong order, and both call their inputs x.
  Composition composition;
  composition.steps.push_back(Step("sum", kSum, {{"x", "doubled"}}, {{"y", "total"}}));
  composition.steps.push_back(Step("twice", kTwice, {{"x", "raw"}}, {{"y", "doubled"}}));
  composition.inputs = {"raw"};
  composition.outputs = {"total", "doubled"};
  const auto composed = Compose(std::move(composition));
  ASSERT_TRUE(composed.ok()) << composed.status();
  const Graph& graph = composed->graph;
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph);
  EXPECT_EQ(Nodes(graph), "doubled = Add(raw, raw)\ntotal = ReduceSum(doubled, sum/a)\n");
  EXPECT_EQ(graph.type(graph.FindValue("raw")).ToString(), "float32[N,2]");
  // The second model's K is the first one's 2.
  EXPECT_EQ(graph.type(graph.FindValue("total")).ToString(), "float32[N,1]");
  ASSERT_EQ(graph.outputs().size(), 2U);
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "total");
}

TEST(Compose, StepsShareInputsAndNamesOfTheirOwnDoNotMeet) {
  Composition composition;
  constexpr char kNegated[] =
      "g (float[M, 2] x) => (float[M, 2] y) { total = Neg(x) y = Abs(total) }";
  composition.steps.push_back(Step("a", kNegated, {{"x", "raw"}}, {{"y", "left"}}));
  composition.steps.push_back(Step("b", kNegated, {{"x", "raw"}}, {{"y", "total"}}));
  composition.inputs = {"raw"};
  composition.outputs = {"left", "total"};
  const auto composed = Compose(std::move(composition));
  ASSERT_TRUE(composed.ok()) << composed.status();
  EXPECT_TRUE(Verify(composed->graph).ok());
  EXPECT_EQ(Nodes(composed->graph),
            "a/total = Neg(raw)\nleft = Abs(a/total)\nb/total = Neg(raw)\ntotal = Abs(b/total)\n");
}

TEST(Compose, OneBatchForAllInputsAndDefaultsForOptionalOnes) {
  Composition composition;
  composition.steps.push_back(
      Step("a",
           "g (float[N, 2] x, float[2] scale) => (float[N, 2] y) <float[2] scale = {2, 3}>"
           "{ y = Mul(x, scale) }",
           {{"x", "p"}}, {{"y", "t"}}));
  composition.steps.push_back(Step("b",
                                   "g (float[A, 2] l, float[B, 2] r) => (float[A, 2] y) "
                                   "{ y = Add(l, r) }",
                                   {{"l", "t"}, {"r", "q"}}, {{"y", "out"}}));
  composition.inputs = {"p", "q"};
  composition.outputs = {"out"};
  composition.one_batch = true;
  const auto composed = Compose(std::move(composition));
  ASSERT_TRUE(composed.ok()) << composed.status();
  const Graph& graph = composed->graph;
  EXPECT_EQ(Nodes(graph), "a/y = Mul(p, a/scale)\nout = Add(a/y, q)\n");
  EXPECT_TRUE(graph.is_constant(graph.FindValue("a/scale")));
  EXPECT_EQ(graph.inputs().size(), 2U);
  EXPECT_EQ(graph.type(graph.FindValue("out")).ToString(), "float32[batch,2]");
}

TEST(Compose, AnInputIsNoOutput) {
  Composition composition;
  composition.steps.push_back(
      Step("a", "g (float[N] x) => (float[N] y, float[N] z) { y = Neg(x) z = Identity(x) }",
           {{"x", "in"}}, {{"y", "negative"}, {"z", "same"}}));
  composition.inputs = {"in"};
  composition.outputs = {"negative", "same", "in"};
  EXPECT_THAT(ErrorOf(std::move(composition)), HasSubstr("output 'in': is there twice"));
}

TEST(Compose, ErrorsNameStepAndTensor) {
  const auto error = [](std::map<std::string, std::string> first_inputs,
                        std::map<std::string, std::string> first_outputs,
                        std::map<std::string, std::string> second_inputs,
                        std::map<std::string, std::string> second_outputs,
                        std::vector<std::string> outputs) {
    Composition composition;
    composition.steps.push_back(Step("one", kTwice, first_inputs, first_outputs));
    composition.steps.push_back(Step("two", "g (float[N, 3] x) => (float[N, 3] y) { y = Neg(x) }",
                                     second_inputs, second_outputs));
    composition.inputs = {"in"};
    composition.outputs = std::move(outputs);
    return ErrorOf(std::move(composition));
  };
  EXPECT_EQ(error({{"x", "in"}}, {{"y", "t"}}, {{"x", "t"}}, {{"y", "out"}}, {"out"}),
            "step 'two': input 'x' is float32[N,3], but the tensor 't', which step 'one' makes, is "
            "float32[N,2]");
  EXPECT_EQ(error({{"z", "in"}}, {{"y", "t"}}, {{"x", "t"}}, {{"y", "out"}}, {"out"}),
            "step 'one': the model has no input 'z'; it has 'x'");
  EXPECT_EQ(error({{"x", "in"}}, {{"z", "t"}}, {{"x", "t"}}, {{"y", "out"}}, {"out"}),
            "step 'one': the model has no output 'z'; it has 'y'");
  EXPECT_EQ(error({{"x", "in"}}, {{"y", "t"}}, {}, {{"y", "out"}}, {"out"}),
            "step 'two': no tensor is mapped to its input 'x'");
  EXPECT_EQ(
      error({{"x", "in"}}, {{"y", "t"}}, {{"x", "u"}}, {{"y", "out"}}, {"out"}),
      "step 'two': input 'x' reads the tensor 'u', which is not an input and which no step makes");
  EXPECT_EQ(error({{"x", "out"}}, {{"y", "t"}}, {{"x", "t"}}, {{"y", "out"}}, {"out"}),
            "input 'in': no step reads this tensor");
  EXPECT_EQ(error({{"x", "in"}}, {{"y", "t"}}, {{"x", "t"}}, {{"y", "t"}}, {"t"}),
            "step 'two': output 'y' makes the tensor 't', which step 'one' makes already");
  EXPECT_EQ(error({{"x", "in"}}, {{"y", "in"}}, {{"x", "in"}}, {{"y", "t"}}, {"t"}),
            "step 'one': output 'y' makes the tensor 'in', which an input is already");
  EXPECT_EQ(error({{"x", "in"}}, {{"y", "t"}}, {{"x", "t"}}, {{"y", "out"}}, {"other"}),
            "output 'other': no step makes this tensor");
}

TEST(Compose, StepsThatWaitForEachOtherAreRefused) {
  constexpr char kAdd[] = "g (float[N] l, float[N] r) => (float[N] y) { y = Add(l, r) }";
  Composition composition;
  composition.steps.push_back(Step("a", kAdd, {{"l", "in"}, {"r", "v"}}, {{"y", "u"}}));
  composition.steps.push_back(Step("b", kAdd, {{"l", "in"}, {"r", "u"}}, {{"y", "v"}}));
  composition.inputs = {"in"};
  composition.outputs = {"v"};
  EXPECT_EQ(ErrorOf(std::move(composition)), "these steps wait for each other's tensors: 'a', 'b'");
}

}  // namespace
}  // namespace onward
