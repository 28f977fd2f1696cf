#include "graph/ops/onward_schemas.h"

#include <gtest/gtest.h>

#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ir/verify.h"
#include "onnx/defs/schema.h"
#include "onnx_io/expand_functions.h"
#include "onward/builder.h"

namespace onward {
namespace {

// Replaces every onward op by its body and returns the type that output 0 has then.
std::string TypeOfBody(GraphBuilder& b, const Expr& y) {
  EXPECT_TRUE(b.status().ok()) << b.status();
  const std::string type = y.type().ToString();
  b.Output("y", y);
  absl::StatusOr<Model> model = b.Build();
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return "";
  const absl::Status expanded = onnx_io::ExpandFunctions(
      model->graph, [](const Graph& graph, NodeId id) { return graph.node(id).domain.empty(); });
  EXPECT_TRUE(expanded.ok()) << expanded;
  EXPECT_TRUE(Verify(model->graph).ok()) << Verify(model->graph);
  for (NodeId id : model->graph.node_ids()) EXPECT_EQ(model->graph.node(id).domain, "");
  GraphEdit(model->graph).type(model->graph.outputs()[0]) = Type();
  const absl::Status inferred = InferGraph(model->graph);
  EXPECT_TRUE(inferred.ok()) << inferred;
  EXPECT_EQ(model->graph.type(model->graph.outputs()[0]).ToString(), type);
  return type;
}

TEST(OnwardSchemas, CopyIsIdentity) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat16, {"n", 4});
  EXPECT_EQ(TypeOfBody(b, b.Op("Copy", {x}, {{"to", std::string("cuda")}}, kOnwardDomain)),
            "float16[n,4]");
}

TEST(OnwardSchemas, AllReduceOfOneRankIsIdentity) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kBFloat16, {"n", 4});
  EXPECT_EQ(TypeOfBody(b, b.Op("AllReduce", {x}, {}, kOnwardDomain)), "bfloat16[n,4]");
}

TEST(OnwardSchemas, RequirementsAreIdentities) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat16, {"n", 4});
  EXPECT_EQ(TypeOfBody(b, b.Op("RequireRange", {x},
                               {{"name", std::string("x")}, {"advice", std::string("none")}},
                               kOnwardDomain)),
            "float16[n,4]");
  GraphBuilder c;
  const Expr text = c.Input("text", DType::kString, {"n", 4});
  EXPECT_EQ(TypeOfBody(c, c.Op("RequireShape", {text, c.Input("expected", DType::kInt64, {2})},
                               {{"message", std::string("{got}")}}, kOnwardDomain)),
            "string[n,4]");
}

TEST(OnwardSchemas, FusedConv) {
  for (const char* activation : {"", "relu", "clip", "silu", "hard_swish", "leaky_relu"}) {
    GraphBuilder b;
    const Expr x = b.Input("x", DType::kFloat32, {"n", 3, "h", 8});
    const Expr w = b.Constant(Tensor(DType::kFloat32, {5, 3, 3, 3}));
    const Expr y = b.Op("FusedConv", {x, w},
                        {{"activation", std::string(activation)},
                         {"strides", std::vector<int64_t>{2, 2}},
                         {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
                        kOnwardDomain);
    EXPECT_EQ(TypeOfBody(b, y), "float32[n,5,(h + 1)/2,4]") << activation;
  }
}

TEST(OnwardSchemas, PointwiseDepthwiseConv) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 3, "h", 8});
  const Expr w = b.Constant(Tensor(DType::kFloat32, {12, 1, 3, 3}));
  const Expr v = b.Constant(Tensor(DType::kFloat32, {12, 3, 1, 1}));
  const Expr y = b.Op("PointwiseDepthwiseConv", {x, w, v},
                      {{"group", int64_t{12}},
                       {"activation", std::string("silu")},
                       {"pointwise_activation", std::string("relu")},
                       {"strides", std::vector<int64_t>{2, 2}},
                       {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
                      kOnwardDomain);
  EXPECT_EQ(TypeOfBody(b, y), "float32[n,12,(h + 1)/2,4]");
}

TEST(OnwardSchemas, FusedMatMul) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", "s", 16});
  const Expr w = b.Constant(Tensor(DType::kFloat32, {32, 16}));
  const Expr bias = b.Constant(Tensor(DType::kFloat32, {32}));
  const Expr y =
      b.Op("FusedMatMul", {x, w, bias},
           {{"transB", int64_t{1}}, {"alpha", 0.5f}, {"activation", std::string("gelu")}},
           kOnwardDomain);
  EXPECT_EQ(TypeOfBody(b, y), "float32[n,s,32]");
}

TEST(OnwardSchemas, AddLayerNormalization) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 16});
  const Expr scale = b.Constant(Tensor(DType::kFloat32, {16}));
  const std::vector<Expr> y = b.Ops("AddLayerNormalization", {x, x, scale}, 2, {}, kOnwardDomain);
  EXPECT_EQ(TypeOfBody(b, y[0] + y[1]), "float32[n,16]");
}

TEST(OnwardSchemas, AddRMSNormalization) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat16, {"n", 16});
  const Expr scale = b.Constant(Tensor(DType::kFloat16, {16}));
  const std::vector<Expr> y =
      b.Ops("AddRMSNormalization", {x, x, scale}, 2, {{"axis", int64_t{-1}}}, kOnwardDomain);
  EXPECT_EQ(TypeOfBody(b, y[0] + y[1]), "float16[n,16]");
}

TEST(OnwardSchemas, FusedOpsSayWhatIsWrong) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {4});
  b.Op("FusedMatMul", {x, x}, {}, kOnwardDomain);
  EXPECT_NE(std::string(b.status().message()).find("input 0 has rank 1; at least 2 is needed"),
            std::string::npos)
      << b.status();
  GraphBuilder c;
  const Expr z = c.Input("z", DType::kFloat32, {4, 4});
  c.Op("FusedMatMul", {z, z}, {{"activation", std::string("sinus")}}, kOnwardDomain);
  EXPECT_NE(std::string(c.status().message()).find("'sinus', not one of relu, clip"),
            std::string::npos)
      << c.status();
}

}  // namespace
}  // namespace onward
