#include "onward/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/builder/patch_sink.h"
#include "graph/ir/print.h"
#include "graph/ir/verify.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

TEST(Builder, MakesAModelInAFewLines) {
  GraphBuilder b("mlp");
  const Expr x = b.Input("x", DType::kFloat32, {"batch", 784});
  const Expr w = b.Constant(Tensor(DType::kFloat32, {784, 10}), "w");
  const Expr bias = b.Constant(Tensor(DType::kFloat32, {10}), "bias");
  b.Output("y", Softmax(MatMul(x, w) + bias));
  const absl::StatusOr<Model> model = b.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Print(model->graph),
            "graph \"mlp\" (x: float32[batch,784]) {\n"
            "  const w: float32[784,10]\n"
            "  const bias: float32[10]\n"
            "  MatMul: float32[batch,10] = MatMul(x, w)\n"
            "  Add: float32[batch,10] = Add(MatMul, bias)\n"
            "  y: float32[batch,10] = Softmax(Add)  # axis=-1\n"
            "  return y\n"
            "}\n");
  EXPECT_EQ(model->opsets.at(""), 28);
}

TEST(Builder, NumbersTakeTheOtherOperandsDType) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat16, {"n"});
  EXPECT_EQ((2.0 * x - 1.0).type().ToString(), "float16[n]");
  const Expr n = b.Input("n", DType::kInt64, {3});
  EXPECT_EQ((n / 2).dtype(), DType::kInt64);
  EXPECT_EQ((-n).dtype(), DType::kInt64);
}

TEST(Builder, NumbersThatADTypeDoesNotHaveAreRefused) {
  const auto error = [](double value, DType dtype) {
    GraphBuilder b;
    b.Output("y", b.Scalar(value, dtype));
    return std::string(b.Build().status().message());
  };
  EXPECT_EQ(error(127.9, DType::kInt8), "");
  EXPECT_EQ(error(-128.9, DType::kInt8), "");
  EXPECT_EQ(error(-0.5, DType::kUint8), "");
  EXPECT_EQ(error(-0x1p63, DType::kInt64), "");
  EXPECT_EQ(error(1e300, DType::kFloat32), "");
  EXPECT_THAT(error(128, DType::kInt8), HasSubstr("a scalar 128 of dtype int8 cannot be made"));
  for (const double value : {0x1p63, -0x1.1p63, std::nan("")})
    EXPECT_THAT(error(value, DType::kInt64), HasSubstr("of dtype int64 cannot be made"));
  EXPECT_THAT(error(-1, DType::kUint64), HasSubstr("of dtype uint64 cannot be made"));
}

TEST(Builder, KeepsTheFirstErrorAndNamesTheOp) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {2, 3});
  const Expr y = MatMul(x, x);
  EXPECT_FALSE(y.valid());
  b.Output("y", Relu(y + 1.0));
  const absl::Status status = b.Build().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("[MatMul 'MatMul'] "));
}

TEST(Builder, RefusesUnknownOpsAndExpressionsOfOtherGraphs) {
  GraphBuilder a;
  const Expr x = a.Input("x", DType::kFloat32, {2});
  GraphBuilder b;
  const Expr y = b.Input("y", DType::kFloat32, {2});
  EXPECT_FALSE((y + x).valid());
  EXPECT_THAT(std::string(b.status().message()), HasSubstr("another graph"));
  EXPECT_FALSE(a.Op("Softmaks", {x}).valid());
  EXPECT_THAT(std::string(a.status().message()), HasSubstr("no op 'Softmaks'"));
}

TEST(Builder, OptionalInputsAndSeveralOutputs) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 6});
  const std::vector<Expr> top = b.Ops("TopK", {x, b.Ints({2})}, 2);
  EXPECT_EQ(top[0].type().ToString(), "float32[n,2]");
  EXPECT_EQ(top[1].type().ToString(), "int64[n,2]");
  EXPECT_EQ(Clip(x, {}, ScalarLike(x, 6)).type().ToString(), "float32[n,6]");
  EXPECT_EQ(expr::Concat({x, x}, 0).type().ToString(), "float32[2*n,6]");
  const Expr flat = Reshape(x, std::vector<int64_t>{-1});
  EXPECT_EQ(flat.type().ToString(), "float32[6*n]");
  EXPECT_TRUE(b.status().ok()) << b.status();
}

TEST(Builder, BranchesCaptureOuterValues) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n"});
  const Expr yes = b.Input("yes", DType::kBool, {});
  const std::vector<Expr> result = b.If(
      yes, [&](ExprSink& body) { return std::vector<Expr>{body.Op("Neg", {x})}; },
      [&](ExprSink&) { return std::vector<Expr>{x}; });
  ASSERT_TRUE(b.status().ok()) << b.status();
  EXPECT_EQ(result[0].type().ToString(), "float32[n]");
  b.Output("y", result[0]);
  const absl::StatusOr<Model> model = b.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const Node& node = model->graph.node(model->graph.node_ids()[0]);
  EXPECT_EQ(node.subgraphs[0].captures, std::vector<ValueId>{x.id()});
}

TEST(Builder, LoopsCarryAndCollect) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n"});
  const std::vector<Expr> result =
      b.Loop(b.Scalar(4, DType::kInt64), {}, {x},
             [&](ExprSink& body, Expr, const std::vector<Expr>& carried) {
               const Expr next = x + carried[0];
               return expr::BodyResult{{}, {next}, {body.Op("ReduceSum", {x})}};
             });
  ASSERT_TRUE(b.status().ok()) << b.status();
  EXPECT_EQ(result[0].type().ToString(), "float32[n]");
  EXPECT_EQ(result[1].type().ToString(), "float32[Loop_1#0,1]");
  b.Output("y", result[0]);
  b.Output("sums", result[1]);
  EXPECT_TRUE(b.Build().ok());
}

TEST(Builder, ScansOverTheFirstAxis) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"time", 3});
  const Expr zero = b.Constant(Tensor(DType::kFloat32, {3}));
  const std::vector<Expr> result =
      b.Scan({zero}, {x},
             [](ExprSink&, const std::vector<Expr>& carried, const std::vector<Expr>& elements) {
               const Expr sum = carried[0] + elements[0];
               return expr::BodyResult{{}, {sum}, {sum}};
             });
  ASSERT_TRUE(b.status().ok()) << b.status();
  EXPECT_EQ(result[0].type().ToString(), "float32[3]");
  EXPECT_EQ(result[1].type().ToString(), "float32[time,3]");
}

TEST(Builder, StateIsAnUpdateBinding) {
  GraphBuilder b;
  const Expr step = b.Input("step", DType::kInt64, {});
  b.Update(step, "next_step", step + 1);
  const absl::StatusOr<Model> model = b.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->updates.size(), 1u);
  EXPECT_EQ(model->graph.value(model->updates[0].output).name, "next_step");
}

TEST(PatchSink, WritesReplacementsAsFormulas) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n"});
  b.Output("y", b.Op("Softsign", {x}));
  absl::StatusOr<Model> model = b.Build();
  ASSERT_TRUE(model.ok());
  Graph& graph = model->graph;
  Patch patch("expand_softsign", graph);
  PatchSink sink(patch);
  const Expr in = sink.Value(graph.inputs()[0]);
  const Expr result = in / (Abs(in) + 1.0);
  EXPECT_EQ(result.type().ToString(), "float32[n]");
  ASSERT_TRUE(sink.status().ok()) << sink.status();
  patch.Replace(graph.outputs()[0], result.id());
  ASSERT_TRUE(Apply(graph, std::move(patch)).ok());
  EXPECT_TRUE(Verify(graph).ok());
  EXPECT_THAT(Print(graph), HasSubstr("y: float32[n] = Div(x, "));
  EXPECT_THAT(Print(graph), ::testing::Not(HasSubstr("Softsign(")));
}

}  // namespace
}  // namespace onward
