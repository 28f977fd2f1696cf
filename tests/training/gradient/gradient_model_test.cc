// Models with gradients, as `onward gradient` writes them: their names, and that ONNX Runtime
// computes the same with them.
#include "training/gradient/gradient_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "graph/ir/graph_edit.h"
#include "onward/functions.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/onnxruntime.h"
#include "tests/support/text_model.h"
#include "tests/training/gradient/finite_differences.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Model Parsed(const std::string& text) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

std::vector<std::string> Names(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

const char kTwoOutputs[] =
    "g (double[batch,3] x, double[3] b, int64[batch] ids) => (double[batch,3] \"out/y\", double z)"
    "<double[3] \"fc/w\" = {1, -2, 3}> {"
    "h = Mul(x, b) t = Mul(h, \"fc/w\") \"out/y\" = Tanh(t) z = ReduceSum<keepdims = 0>(\"out/y\") "
    "}";

TEST(GradientModel, NamesAndTypes) {
  Model model = Parsed(kTwoOutputs);
  const auto names = MakeGradientModel(model, {{"out/y", "z", "z"}, {"x", "fc/w", "b", "x"}});
  ASSERT_TRUE(names.ok()) << names.status();
  const Graph& graph = model.graph;
  EXPECT_THAT(names->inputs, ElementsAre("grad/out/y"));
  EXPECT_THAT(names->outputs, ElementsAre("grad/x", "grad/fc/w", "grad/b"));
  EXPECT_THAT(Names(graph, graph.inputs()), ElementsAre("x", "b", "ids", "grad/out/y"));
  EXPECT_THAT(Names(graph, graph.outputs()),
              ElementsAre("out/y", "z", "grad/x", "grad/fc/w", "grad/b"));
  EXPECT_TRUE(graph.is_constant(graph.FindValue("fc/w")));
  EXPECT_EQ(graph.type(graph.FindValue("grad/x")).ToString(), "float64[batch,3]");
  EXPECT_EQ(graph.type(graph.FindValue("grad/fc/w")).ToString(), "float64[3]");
}

// No label of the type, or of those there are, is ignored: the gradient is as without ignore_index.
TEST(GradientModel, IgnoredLabelsMayBeAnyInteger) {
  const auto gradient = [](const std::string& labels, const std::string& attributes) {
    Model model = Parsed("g (double[2, 3] x, " + labels + "[2] t) => (double y) { y = " +
                         "NegativeLogLikelihoodLoss " + attributes + " (x, t) }");
    EXPECT_TRUE(MakeGradientModel(model, {{"y"}, {"x"}}).ok()) << labels << attributes;
    const Tensor ids =
        labels == "int32" ? Tensor::Of<int32_t>({2}, {2, 0}) : Tensor::Of<int64_t>({2}, {2, 0});
    const auto outputs = RunModel(
        model, {{"x", Value(Tensor::Of<double>({2, 3}, {1, 2, 3, 4, 5, 6}))}, {"t", Value(ids)}});
    return outputs.at("grad/x").tensor();
  };
  for (const std::string labels : {"int32", "int64"}) {
    const Tensor want = gradient(labels, "");
    EXPECT_THAT(want.span<double>(), ElementsAre(0, 0, -0.5, -0.5, 0, 0));
    for (const char* index : {"9223372036854775807", "-9223372036854775808", "9007199254740993"}) {
      const std::string attributes = std::string("<ignore_index = ") + index + ">";
      EXPECT_TRUE(SameBits(gradient(labels, attributes), want)) << labels << attributes;
    }
  }
}

// Models that no kernel would take: their gradients are refused, and nothing overflows or reads
// past a list.
TEST(GradientModel, AttributesThatFitNothingAreRefused) {
  const auto error = [](const std::string& graph) {
    Model model = Parsed("g " + graph);
    return std::string(MakeGradientModel(model, {{"y"}, {"x"}}).status().message());
  };
  EXPECT_THAT(error("(float[2, 3] x, float g, int64[n] to) => (float y) { grid = Reshape (g, to) "
                    "z = GridSample (x, grid) y = ReduceSum <keepdims = 0> (z) }"),
              HasSubstr("a tensor of at least 3 dims is needed"));
  EXPECT_THAT(error("(float x0, int64[n] to, float[2, 2] b) => (float y) { x = Reshape (x0, to) "
                    "z = Einsum <equation = \"ij->i\"> (x, b) y = ReduceSum <keepdims = 0> (z) }"),
              HasSubstr("'ij->i' has 1 terms for 2 inputs"));
  for (const std::string op : {"Conv <", "DeformConv <"}) {
    const std::string inputs = op[0] == 'C' ? "(x, w)" : "(x, w, offset)";
    EXPECT_THAT(error("(float[1, 1, a, b] x, float[1, 1, 2, 2] w, float[1, 8, c, d] offset) => "
                      "(float y) { z = " +
                      op + "dilations = [1, 4611686018427387904]> " + inputs +
                      " y = ReduceSum <keepdims = 0> (z) }"),
                HasSubstr("dilations is [1,4611686018427387904], must have 2 numbers"))
        << op;
  }
  EXPECT_THAT(error("(float[1, 1, a, b] x) => (float y) { z = AveragePool <kernel_shape = [2, 2], "
                    "strides = [1, 4611686018427387904]> (x) y = ReduceSum <keepdims = 0> (z) }"),
              HasSubstr("strides is [1,4611686018427387904], must have 2 numbers"));
}

// Gradients that are the same value, the cotangent itself, or zeros; names that are taken.
TEST(GradientModel, EveryGradientIsAnOutputOfItsOwn) {
  Model model = Parsed(
      "g (double[2] a, double[2] b, double[2] unused) => (double[2] y, double[2] inner) {"
      "\"grad/a\" = Add(a, b) y = Identity(\"grad/a\") inner = Sin(\"grad/a\") }");
  const auto names = MakeGradientModel(model, {{"y"}, {"a", "b", "unused", "y"}});
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(names->outputs, ElementsAre("grad/a", "grad/b", "grad/unused", "grad/y_1"));
  const Tensor ones = Tensor::Of<double>({2}, {1, 2});
  const auto outputs = RunModel(
      model,
      {{"a", Value(ones)}, {"b", Value(ones)}, {"unused", Value(ones)}, {"grad/y", Value(ones)}});
  for (const char* name : {"grad/a", "grad/b", "grad/y_1"})
    EXPECT_THAT(outputs.at(name).tensor().span<double>(), ElementsAre(1, 2)) << name;
  EXPECT_THAT(outputs.at("grad/unused").tensor().span<double>(), ElementsAre(0, 0));
}

// Of known sizes: convolutions of every kind, statistics, a broadcast, a mean and a reshape.
// Weights that are equal stay two.
TEST(GradientModel, KnownSizesLeaveNoShapeArithmetic) {
  Model model = Parsed(R"(
    g (float[2,4,8,8] x, float[4,1,3,3] w, float[4,4,1,1] v) => (float[2,4] y)
    <float[4] scale = {1, 1, 1, 1}, float[4] bias = {0, 0, 0, 0}, float[4] mean = {0, 0, 0, 0},
     float[4] variance = {1, 1, 1, 1}, float low = {0}, float high = {6}, int64[2] flat = {0, -1},
     int64[2] axes = {1, 2}> {
      a = Conv<group = 4, pads = [1, 1, 1, 1], strides = [2, 2]>(x, w)
      b = BatchNormalization(a, scale, bias, mean, variance)
      c = Clip(b, low, high)
      d = Conv(c, v)
      more = Unsqueeze(scale, axes)
      e = Add(d, more)
      m = GlobalAveragePool(e)
      y = Reshape(m, flat)
    })");
  const auto names =
      MakeGradientModel(model, {{"y"}, {"x", "w", "v", "scale", "bias", "mean", "variance"}});
  ASSERT_TRUE(names.ok()) << names.status();
  for (const NodeId id : model.graph.node_ids()) {
    const std::string& op = model.graph.node(id).op_type;
    for (const char* arithmetic : {"Shape", "Size", "Gather", "Concat", "NonZero", "Slice"})
      EXPECT_NE(op, arithmetic) << model.graph.Describe(id);
    if (op == "Equal") {
      EXPECT_EQ(model.graph.type(model.graph.node(id).inputs[0]).dtype, DType::kFloat32);
    }
    if (op != "BatchNormalization") continue;
    const std::vector<ValueId>& inputs = model.graph.node(id).inputs;
    EXPECT_EQ(model.graph.value(inputs[4]).name, "variance");
  }
  EXPECT_TRUE(model.graph.is_constant(model.graph.FindValue("mean")));
}

std::map<std::string, int> CountOps(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodeId id : graph.node_ids()) ++counts[graph.node(id).op_type];
  return counts;
}

// What a block of MobileNetV2 needs: for a pointwise Conv two nodes, for a depthwise one four, for
// a BatchNormalization five, for a Clip three.
TEST(GradientModel, ABlockOfConvolutionsTakesFewNodes) {
  Model model = Parsed(R"(
    g (float[1,4,8,8] x, float[4,1,3,3] w, float[6,4,1,1] v) => (float[1,6,8,8] y)
    <float[4] scale = {1, 1, 1, 1}, float[4] bias = {0, 0, 0, 0}, float[4] mean = {0, 0, 0, 0},
     float[4] variance = {1, 1, 1, 1}, float low = {0}, float high = {6}> {
      a = Conv<group = 4, pads = [1, 1, 1, 1]>(x, w)
      b = BatchNormalization(a, scale, bias, mean, variance)
      c = Clip(b, low, high)
      y = Conv(c, v)
    })");
  ASSERT_TRUE(MakeGradientModel(model, {{"y"}, {"x", "w", "v", "scale", "bias"}}).ok());
  EXPECT_THAT(CountOps(model.graph),
              ::testing::UnorderedElementsAre(
                  Pair("Conv", 3), Pair("BatchNormalization", 3), Pair("Clip", 2), Pair("Equal", 1),
                  Pair("Where", 1), Pair("ConvTranspose", 2), Pair("Transpose", 2), Pair("Mul", 1),
                  Pair("ReduceSum", 2), Pair("Einsum", 1)));
}

// Bounds pass nothing, as PyTorch's hardtanh; floats beside them do.
TEST(GradientModel, ClipBetweenNumbersPassesWhatLiesStrictlyBetween) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float tiny = std::numeric_limits<float>::min();
  const std::pair<float, float> bounds[] = {{0, 6},          {-1, 0},         {-6, -1},
                                            {-3e38f, 3e38f}, {2, -2},         {1, 1},
                                            {0, kInfinity},  {-kInfinity, 6}, {0, tiny}};
  for (const auto& [low, high] : bounds) {
    SCOPED_TRACE(absl::StrCat(low, " to ", high));
    Model model;
    GraphSink sink(model.graph);
    std::vector<float> points = {-7, -1, 0, tiny, 3, 6, 7, std::nanf(""), kInfinity, -kInfinity};
    for (const float bound : {low, high})
      for (const float to : {-kInfinity, kInfinity}) {
        const float beside = std::nextafter(bound, to);
        points.push_back(std::fpclassify(beside) == FP_SUBNORMAL ? std::copysign(tiny, to)
                                                                 : beside);
      }
    const auto count = static_cast<int64_t>(points.size());
    const Expr x = sink.Value(
        GraphEdit(model.graph).AddInput("x", Type::Tensor(DType::kFloat32, {Dim(count)})));
    const Expr y = Clip(x, sink.Scalar(low, DType::kFloat32), sink.Scalar(high, DType::kFloat32));
    GraphEdit(model.graph).Rename(y.id(), "y");
    GraphEdit(model.graph).AddOutput(y.id());
    ASSERT_TRUE(MakeGradientModel(model, {{"y"}, {"x"}}).ok());
    const Tensor given = Tensor::Of<float>({count}, points);
    const Tensor ones = Tensor::Of<float>({count}, std::vector<float>(points.size(), 1));
    const auto outputs = RunModel(model, {{"x", Value(given)}, {"grad/y", Value(ones)}});
    const auto slopes = outputs.at("grad/x").tensor().span<float>();
    for (size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(slopes[i], points[i] > low && points[i] < high ? 1 : 0) << points[i];
    }
  }
}

// As PyTorch's exporter with dynamo=True and optimize=False writes bounds and a missing bias.
// What is computed from a weight stays computed, whether its gradient is wanted or not.
TEST(GradientModel, WhatNumbersComputeIsFolded) {
  Model model = Parsed(R"(
    g (float[1,2,4,4] x, float[3,2,1,1] v) => (float[1,3,4,4] y)
    <double six = {6}, float zero = {0}, float[1] frozen = {2}, float[1] w = {3}> {
      channels = Shape<start = 0, end = 1>(v)
      low = CastLike(zero, x)
      high = CastLike(six, x)
      c = Clip(x, low, high)
      cast = CastLike(zero, c)
      bias = Expand(cast, channels)
      d = Conv(c, v, bias)
      root = Sqrt(frozen)
      square = Mul(w, w)
      e = Mul(d, root)
      y = Mul(e, square)
    })");
  GradientModelOptions options{{"y"}, {"x", "v", "w"}};
  options.initializers = {"frozen", "w"};
  ASSERT_TRUE(MakeGradientModel(model, options).ok());
  const std::map<std::string, int> counts = CountOps(model.graph);
  for (const char* folded : {"CastLike", "Cast", "Expand", "Shape", "Greater", "And"})
    EXPECT_FALSE(counts.contains(folded)) << folded;
  EXPECT_EQ(counts.at("Sqrt"), 1);
  EXPECT_EQ(counts.at("Clip"), 2);
  for (const char* weight : {"frozen", "w"}) {
    const ValueId id = model.graph.FindValue(weight);
    EXPECT_TRUE(model.graph.is_constant(id) && !model.graph.is_input(id)) << weight;
  }
  EXPECT_THAT(Names(model.graph, model.graph.inputs()), ElementsAre("x", "v", "grad/y"));
}

TEST(GradientModel, UnknownNamesAreAnswered) {
  Model model = Parsed(kTwoOutputs);
  EXPECT_THAT(std::string(MakeGradientModel(model, {{"out/z"}, {"x"}}).status().message()),
              HasSubstr("the model has no tensor 'out/z'; did you mean 'out/y'?"));
}

void ExpectSameInOnnxRuntime(Model model, const GradientModelOptions& options,
                             Session::Inputs inputs) {
  const auto names = MakeGradientModel(model, options);
  ASSERT_TRUE(names.ok()) << names.status();
  const Session::Outputs ours = RunModel(model, inputs);
  const auto theirs = testing::RunInOnnxRuntime(model, inputs);
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  ASSERT_EQ(theirs->size(), ours.size());
  for (const auto& [name, value] : ours) {
    EXPECT_EQ(testing::Difference(value.tensor(), theirs->at(name).tensor(), 1e-9, 1e-12), "")
        << name;
  }
}

TEST(GradientModel, RunsInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers installs ONNX Runtime";
  for (const int64_t batch : {1, 4}) {
    ExpectSameInOnnxRuntime(Parsed(kTwoOutputs), {{"out/y", "z"}, {"x", "b", "fc/w", "h"}},
                            {{"x", Value(RandomDoubles({batch, 3}, 1))},
                             {"b", Value(RandomDoubles({3}, 2))},
                             {"ids", Value(Tensor(DType::kInt64, Dims{batch}))},
                             {"grad/out/y", Value(RandomDoubles({batch, 3}, 3))}});
  }
}

// The types leave open what is broadcast: the axes are found when the graph runs.
TEST(GradientModel, OpenBroadcastingRunsInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers installs ONNX Runtime";
  ExpectSameInOnnxRuntime(Parsed("g (double[n,3] x, double[2,m] y) => (double[p,q] out) {"
                                 "out = Mul(x, y) }"),
                          {{"out"}, {"x", "y"}},
                          {{"x", Value(RandomDoubles({1, 3}, 1))},
                           {"y", Value(RandomDoubles({2, 1}, 2))},
                           {"grad/out", Value(RandomDoubles({2, 3}, 3))}});
}

// PyTorch's second derivatives at the kink are those of the side that is a line.
TEST(GradientModel, SecondDerivativesAtKinks) {
  for (const char* op : {"Elu", "Selu", "Celu"}) {
    SCOPED_TRACE(op);
    auto parsed = testing::ModelFromText(std::string("g (float[2] x) => (float[2] y) { y = ") + op +
                                         " (x) }");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    Model model = *std::move(parsed);
    ASSERT_TRUE(MakeGradientModel(model, {{"y"}, {"x"}}).ok());
    const auto names = MakeGradientModel(model, {{"grad/x"}, {"x"}});
    ASSERT_TRUE(names.ok()) << names.status();
    Tensor zeros(DType::kFloat32, Dims{2}), ones(DType::kFloat32, Dims{2});
    std::fill_n(zeros.mutable_data<float>(), 2, 0.0f);
    std::fill_n(ones.mutable_data<float>(), 2, 1.0f);
    const auto outputs = RunModel(
        model, {{"x", Value(zeros)}, {"grad/y", Value(ones)}, {"grad/grad/x", Value(ones)}});
    EXPECT_EQ(outputs.at("grad/x_1").tensor().data<float>()[0], 0);
  }
}

}  // namespace
}  // namespace onward::training
