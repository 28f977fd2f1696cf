#include "graph/infer/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ir/graph_edit.h"
#include "graph/ir/print.h"
#include "graph/ir/verify.h"
#include "onnx/defs/schema.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

Dim S(const char* text) { return ParseDim(text); }

// Adds a node of ai.onnx with one output of unknown type named after the op.
ValueId Add(Graph& graph, const char* op, std::vector<ValueId> inputs, Attributes attributes = {}) {
  Node node;
  node.schema = onnx::OpSchemaRegistry::Schema(op, 28, "");
  node.op_type = op;
  node.inputs = std::move(inputs);
  node.outputs = {GraphEdit(graph).AddValue(graph.UniqueName(op), Type())};
  node.attributes = std::move(attributes);
  const ValueId output = node.outputs[0];
  GraphEdit(graph).AddNode(std::move(node));
  return output;
}

TEST(Infer, KeepsSymbolsThroughMatMulAndSoftmax) {
  Graph graph;
  const ValueId x =
      GraphEdit(graph).AddInput("x", Type::Tensor(DType::kFloat32, {S("batch"), S("seq"), 64}));
  const ValueId w = GraphEdit(graph).AddConstant("w", Tensor(DType::kFloat32, {64, 8}));
  const ValueId y = Add(graph, "Softmax", {Add(graph, "MatMul", {x, w})});
  GraphEdit(graph).AddOutput(y);
  ASSERT_TRUE(InferGraph(graph).ok());
  EXPECT_EQ(graph.type(y).ToString(), "float32[batch,seq,8]");
  EXPECT_TRUE(Verify(graph).ok());
}

TEST(Infer, SizesThatDependOnDataAreNamedAfterTheValue) {
  Graph graph;
  const ValueId x = GraphEdit(graph).AddInput("x", Type::Tensor(DType::kFloat32, {S("n"), 4}));
  const ValueId y = Add(graph, "NonZero", {x});
  GraphEdit(graph).AddOutput(y);
  ASSERT_TRUE(InferGraph(graph).ok());
  EXPECT_EQ(graph.type(y).ToString(), "int64[2,NonZero#1]");
  EXPECT_EQ(Print(graph),
            "graph \"\" (x: float32[n,4]) {\n"
            "  NonZero: int64[2,NonZero#1] = NonZero(x)\n"
            "  return NonZero\n"
            "}\n");
}

// ONNX's own function leaves the presents untyped without a past, and takes a hidden size that is
// not a number for 0.
TEST(Infer, TypesOfAttentionAreWhole) {
  Graph graph;
  const auto input = [&](const char* name, const char* length) {
    return GraphEdit(graph).AddInput(
        name, Type::Tensor(DType::kFloat16, {S("batch"), S(length), S("hidden")}));
  };
  Node node;
  node.schema = onnx::OpSchemaRegistry::Schema("Attention", 28, "");
  node.op_type = "Attention";
  node.inputs = {input("q", "n"), input("k", "m"), input("v", "m")};
  node.attributes = {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}};
  for (const char* name : {"y", "present_key", "present_value"})
    node.outputs.push_back(GraphEdit(graph).AddValue(name, Type()));
  const std::vector<ValueId> outputs = node.outputs;
  GraphEdit(graph).AddNode(std::move(node));
  ASSERT_TRUE(InferGraph(graph).ok());
  EXPECT_EQ(graph.type(outputs[0]).ToString(), "float16[batch,n,hidden]");
  EXPECT_EQ(graph.type(outputs[1]).ToString(), "float16[batch,2,m,present_key#3]");
  EXPECT_EQ(graph.type(outputs[2]).ToString(), "float16[batch,2,m,present_value#3]");
}

TEST(Infer, ErrorsNameTheNode) {
  Graph graph;
  const ValueId x = GraphEdit(graph).AddInput("x", Type::Tensor(DType::kFloat32, {2, 3}));
  const ValueId w = GraphEdit(graph).AddInput("w", Type::Tensor(DType::kFloat32, {4, 5}));
  Add(graph, "MatMul", {x, w});
  const absl::Status status = InferGraph(graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("[MatMul 'MatMul'] "));
}

TEST(Infer, ChecksDtypesAndAttributes) {
  Graph graph;
  const ValueId x = GraphEdit(graph).AddInput("x", Type::Tensor(DType::kFloat32, {2}));
  const ValueId n = GraphEdit(graph).AddInput("n", Type::Tensor(DType::kInt64, {2}));
  const auto message = [&](const char* op, std::vector<ValueId> inputs, Attributes attributes) {
    Graph copy = graph;
    Add(copy, op, std::move(inputs), std::move(attributes));
    return std::string(InferGraph(copy).message());
  };
  EXPECT_THAT(message("Add", {x, n}, {}), HasSubstr("is tensor(int64), but input 0"));
  EXPECT_THAT(message("Softmax", {n}, {}), HasSubstr("allowed: tensor(bfloat16)"));
  EXPECT_THAT(message("Softmax", {x}, {{"axes", int64_t{0}}}), HasSubstr("no attribute 'axes'"));
  EXPECT_THAT(message("Softmax", {x}, {{"axis", 0.5f}}), HasSubstr("is FLOAT, the op takes INT"));
  EXPECT_THAT(message("Softmax", {x, x}, {}), HasSubstr("has 2 inputs, the op takes 1"));
  EXPECT_THAT(message("Cast", {x}, {}), HasSubstr("attribute 'to' is missing"));
  EXPECT_THAT(message("Add", {x, {}}, {}), HasSubstr("input 1 'B' is missing"));
}

TEST(Infer, DeclaredTypesAreCheckedAndKept) {
  Graph graph;
  const ValueId x = GraphEdit(graph).AddInput("x", Type::Tensor(DType::kFloat32, {S("n"), 4}));
  const ValueId y = Add(graph, "Relu", {x});
  GraphEdit(graph).type(y) = Type::Tensor(DType::kFloat32, {8, Dim()});
  ASSERT_TRUE(InferGraph(graph).ok());
  EXPECT_EQ(graph.type(y).ToString(), "float32[8,4]");
  GraphEdit(graph).type(y) = Type::Tensor(DType::kFloat32, {8, 5});
  EXPECT_THAT(std::string(InferGraph(graph).message()),
              HasSubstr("output 0 'Relu' declared float32[8,5] but inference gives float32[n,4]"));
}

}  // namespace
}  // namespace onward
