// What the driver does besides the rules: several targets, broadcasting that the types leave open,
// stopping, pruning, expansion, errors, size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ir/graph_edit.h"
#include "graph/ir/verify.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "onward/builder.h"
#include "onward/import.h"
#include "tests/training/gradient/finite_differences.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Model> FromText(const std::string& text) {
  onnx::ModelProto proto;
  const std::string model = absl::StrCat(
      "<ir_version: 10, opset_import: [\"\" : 28, \"onward\" : 1, \"com.microsoft\" : 1, \"local\" "
      ": 1]>\n",
      text);
  const auto status = onnx::OnnxParser::Parse(proto, model.c_str());
  if (!status.IsOK()) return absl::InvalidArgumentError(status.ErrorMessage());
  return ImportBytes(proto.SerializeAsString());
}

Model Parsed(const std::string& text) {
  auto model = FromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

TEST(GradientDriver, SeveralTargetsWithCotangents) {
  const Model model = Parsed(
      "g (double[2,3] x, double[3] b) => (double[2,3] y, double z, double[2,3] h) {"
      "h = Mul(x, b) y = Tanh(h) z = ReduceSum<keepdims = 0>(y) }");
  ExpectFiniteDifferences(
      model, {{"x", Value(RandomDoubles({2, 3}, 1))}, {"b", Value(RandomDoubles({3}, 2))}});
}

TEST(GradientDriver, BroadcastingOfUnknownDims) {
  // n and m are one in the run, and so broadcast, though the types do not say it.
  const Model model = Parsed(
      "g (double[n,3] x, double[2,m] y, double[k,2,3] z) => (double[?,?,?] out) {"
      "a = Mul(x, y) out = Mul(a, z) }");
  ExpectFiniteDifferences(model, {{"x", Value(RandomDoubles({1, 3}, 1))},
                                  {"y", Value(RandomDoubles({2, 1}, 2))},
                                  {"z", Value(RandomDoubles({2, 2, 3}, 3))}});
  ExpectFiniteDifferences(model, {{"x", Value(RandomDoubles({2, 3}, 1))},
                                  {"y", Value(RandomDoubles({2, 3}, 2))},
                                  {"z", Value(RandomDoubles({1, 2, 3}, 3))}});
}

TEST(GradientDriver, BroadcastingOfUnknownRank) {
  const Model model = Parsed(
      "g (double[3] x, double[2,3] z, int64[r] shape) => (double[2,3] y) {"
      "h = Reshape(x, shape) s = Sin(h) y = Mul(s, z) }");
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{3}, {1, 3}}) {
    const int64_t rank = static_cast<int64_t>(shape.size());
    ExpectFiniteDifferences(model, {{"x", Value(RandomDoubles({3}, 1))},
                                    {"z", Value(RandomDoubles({2, 3}, 2))},
                                    {"shape", Value(Tensor::Of<int64_t>({rank}, shape))}});
  }
}

// y = stop(x) * x: the gradient is stop(x), not 2x.
TEST(GradientDriver, StopGradient) {
  Model model =
      Parsed("g (double[3] x) => (double[3] y) { s = onward.StopGradient(x) y = Mul(s, x) }");
  Graph& graph = model.graph;
  const ValueId dy = GraphEdit(graph).AddInput("dy", graph.type(graph.FindValue("y")));
  const GradientTarget target{graph.FindValue("y"), dy};
  const auto gradients = AddGradients(graph, {target}, {graph.FindValue("x")});
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  GraphEdit(graph).AddOutput((*gradients)[0]);
  const auto outputs = RunModel(model, {{"x", Value(Tensor::Of<double>({3}, {1, 2, 3}))},
                                        {"dy", Value(Tensor::Of<double>({3}, {1, 1, 2}))}});
  EXPECT_THAT(outputs.at(graph.value((*gradients)[0]).name).tensor().span<double>(),
              ElementsAre(1, 2, 6));
}

TEST(GradientDriver, StopAtValues) {
  Model model = Parsed("g (float x) => (float y) { h = Mul(x, x) y = Mul(h, x) }");
  Graph& graph = model.graph;
  GradientOptions options;
  options.stop_at = {graph.FindValue("h")};
  const GradientTarget target{graph.FindValue("y"), {}};
  const auto gradients =
      AddGradients(graph, {target}, {graph.FindValue("x"), graph.FindValue("h")}, options);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  for (const ValueId id : *gradients) {
    if (!graph.is_output(id) && graph.value(id).producer.valid()) GraphEdit(graph).AddOutput(id);
  }
  const auto outputs = RunModel(model, {{"x", Value(Tensor::Scalar(3.0f))}});
  EXPECT_EQ(*outputs.at(graph.value((*gradients)[0]).name).tensor().data<float>(), 9);
}

// Ten layers; the gradient of the last one alone costs what one layer costs.
TEST(GradientDriver, FrozenLayersCostNothing) {
  const auto backward_nodes = [](bool all) {
    GraphBuilder builder;
    Expr x = builder.Input("x", DType::kFloat32, {"batch", 4});
    std::vector<ValueId> parameters;
    for (int i = 0; i < 10; ++i) {
      const Expr w = builder.Constant(Tensor(DType::kFloat32, Dims{4, 4}), absl::StrCat("w", i));
      const Expr b = builder.Constant(Tensor(DType::kFloat32, Dims{4}), absl::StrCat("b", i));
      if (all || i == 9) parameters.push_back(w.id());
      x = Tanh(MatMul(x, w) + b);
    }
    const Expr loss = ReduceSum(x, {}, false);
    builder.Output("loss", loss);
    auto model = builder.Build();
    EXPECT_TRUE(model.ok()) << model.status();
    const size_t before = model->graph.node_ids().size();
    const auto gradients = AddGradients(model->graph, loss.id(), parameters);
    EXPECT_TRUE(gradients.ok()) << gradients.status();
    EXPECT_TRUE(Verify(model->graph).ok());
    return model->graph.node_ids().size() - before;
  };
  const size_t last = backward_nodes(false), all = backward_nodes(true);
  EXPECT_LE(last, 10u);
  EXPECT_GE(all, 9 * (last - 4));
}

TEST(GradientDriver, FormulasAndBodiesAndLocalFunctionsAreExpanded) {
  const Model model = Parsed(
      "g (double[2,3] x, double[3] w) => (double[2,3] y, double[2,3] z) {"
      "a = local.Scaled(x, w) z = com.microsoft.QuickGelu<alpha = 1.5>(a) "
      "c = onward.Copy<to = \"cpu\">(a) y = Swish(c) }"
      "<domain: \"local\", opset_import: [\"\" : 28]> Scaled (p, q) => (r) { t = Mul(p, q) r = "
      "Add(t, p) }");
  ExpectFiniteDifferences(
      model, {{"x", Value(RandomDoubles({2, 3}, 1))}, {"w", Value(RandomDoubles({3}, 2))}});
}

std::string ErrorOf(const std::string& text, const std::string& y, const std::string& x) {
  Model model = Parsed(text);
  Graph& graph = model.graph;
  return std::string(
      AddGradients(graph, graph.FindValue(y), {graph.FindValue(x)}).status().message());
}

TEST(GradientDriver, AnErrorNamesTheNodeAndThePath) {
  EXPECT_THAT(
      ErrorOf("g (float[3] x) => (float y) { a = Exp(x) i = NonZero(x) "
              "[odd] b, v = Unique<sorted = 1>(a) c = Sin(b) y = ReduceSum<keepdims = 0>(c) }",
              "y", "x"),
      HasSubstr("[Unique 'odd'] has no gradient, and the path leads through it; the path is "
                "x -> a -> [Unique 'odd'] -> b -> c -> y"));
  std::string chain = "g (float[3] x) => (float y) { h0 = Sin(x) ";
  for (int i = 0; i < 20; ++i) absl::StrAppend(&chain, "h", i + 1, " = Sin(h", i, ") ");
  EXPECT_THAT(
      ErrorOf(chain + "b = Unique(h20) y = ReduceSum<keepdims = 0>(b) }", "y", "x"),
      HasSubstr("x -> h0 -> h1 -> h2 -> ... 15 values ... -> h18 -> h19 -> h20 -> [Unique"));
}

TEST(GradientDriver, WrongTargetsAndValues) {
  const std::string text =
      "g (float[3] x, int64[3] i, float[n] v) => (float[3] y, int64[3] j) { y = Sin(x) j = Abs(i) "
      "}";
  EXPECT_THAT(ErrorOf(text, "y", "x"), HasSubstr("'y' is float32[3]; it must be one float"));
  EXPECT_THAT(ErrorOf(text, "j", "x"), HasSubstr("'j' is int64[3] and cannot be differentiated"));
  EXPECT_THAT(ErrorOf(text, "y", "i"), HasSubstr("'i' is int64[3] and has no gradient"));
  EXPECT_THAT(ErrorOf("g (float[1,2,3] x) => (float y) { [n] a = LRN<size = 0>(x) "
                      "y = ReduceSum<keepdims = 0>(a) }",
                      "y", "x"),
              HasSubstr("[LRN 'n'] size is 0, must be positive"));
  Model model = Parsed(text);
  const GradientTarget target{model.graph.FindValue("y"), model.graph.FindValue("i")};
  EXPECT_THAT(
      std::string(
          AddGradients(model.graph, {target}, {model.graph.FindValue("x")}).status().message()),
      HasSubstr("the gradient 'i' that flows into 'y' is int64[3]; it must be float32[3]"));
}

TEST(GradientDriver, AChainOfFiveThousandNodes) {
  GraphBuilder builder;
  const Expr x = builder.Input("x", DType::kFloat64, {1});
  Expr y = x;
  for (int i = 0; i < 5000; ++i) y = Sin(y);
  const Expr loss = ReduceSum(y, {}, false);
  builder.Output("loss", loss);
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto gradients = AddGradients(model->graph, loss.id(), {x.id()});
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_LE(model->graph.node_ids().size(), 5000u * 3 + 20);
}

}  // namespace
}  // namespace onward::training
