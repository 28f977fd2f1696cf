#include "executors/plan/place.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

// A device in host memory that computes one op.
class OpDevice : public ExecutionProvider {
 public:
  explicit OpDevice(std::string_view op) : name_(std::string(op) + "_device") {
    for (const KernelEntry* entry : FindKernels(CpuProvider(), "", op)) kernels_.push_back(*entry);
  }
  std::string_view name() const override { return name_; }
  const std::vector<KernelEntry>& kernels() const override { return kernels_; }
  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t bytes) const override {
    return std::shared_ptr<void>(std::malloc(static_cast<size_t>(bytes)), std::free);
  }
  absl::Status Copy(void* to, const void* from, int64_t bytes, CopyKind, Stream*) const override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  std::vector<KernelEntry> kernels_;
};

// Lives as long as the process, as providers do: the index of kernels keeps their entries by name.
const OpDevice& DeviceOf(const std::string& op) {
  static auto* devices = new std::map<std::string, OpDevice>();
  return devices->try_emplace(op, op).first->second;
}

TEST(Place, EveryInputOfANodeOnADeviceIsACopy) {
  constexpr int kInputs = 50;
  Graph graph;
  Node sum;
  sum.op_type = "Sum";
  sum.schema = FindSchema("Sum", "");
  for (int i = 0; i < kInputs; ++i)
    sum.inputs.push_back(GraphEdit(graph).AddInput(
        absl::StrCat("x", i), Type::Tensor(DType::kFloat32, SymbolicDims{Dim(3)})));
  sum.outputs = {GraphEdit(graph).AddValue("y", Type())};
  GraphEdit(graph).AddOutput(sum.outputs[0]);
  const NodeId id = GraphEdit(graph).AddNode(std::move(sum));
  ASSERT_TRUE(InferGraph(graph).ok());

  const absl::Status placed = Place(graph, DeviceOf("Sum"), KernelOptions());
  ASSERT_TRUE(placed.ok()) << placed;
  EXPECT_EQ(graph.node(id).provider, "Sum_device");
  for (int i = 0; i < kInputs; ++i) {
    const NodeId copy = graph.value(graph.node(id).inputs[static_cast<size_t>(i)]).producer;
    ASSERT_TRUE(copy.valid()) << i;
    EXPECT_EQ(graph.node(copy).op_type, "Copy");
    EXPECT_EQ(graph.value(graph.node(copy).inputs[0]).name, absl::StrCat("x", i));
  }
  const NodeId back = graph.value(graph.outputs()[0]).producer;
  EXPECT_EQ(graph.node(back).op_type, "Copy");
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
}

Graph Placed(const std::string& text, std::string_view op) {
  absl::StatusOr<Model> model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(InferGraph(model->graph).ok());
  const absl::Status placed = Place(model->graph, DeviceOf(std::string(op)), KernelOptions());
  EXPECT_TRUE(placed.ok()) << placed;
  return std::move(model->graph);
}

const Node& ProducerOf(const Graph& graph, const std::string& value) {
  return graph.node(graph.value(graph.FindValue(value)).producer);
}

TEST(Place, TheHostComputesWhatFollowsFromDims) {
  const Graph graph = Placed(
      "g (float[n, m] x) => (int64[2] twice, float[n, m] y) "
      "{ dims = Shape (x) twice = Add (dims, dims) y = Add (x, x) }",
      "Add");
  EXPECT_EQ(ProducerOf(graph, "twice").provider, "cpu");
  EXPECT_EQ(ProducerOf(graph, "y").op_type, "Copy");
  EXPECT_EQ(graph.num_nodes(), 5) << "x goes to the device and y comes back";
}

TEST(Place, TheHostComputesConditionsFromNumbersThatItHas) {
  const Graph graph = Placed(
      "g (int64[1] rate, float[n] x) => (float[n] y) <int64[1] k = {8000}> "
      "{ twice = Add (rate, rate) is = Equal (twice, k) c = Squeeze (is) y = If (c) <"
      "then_branch = t () => (float[n] a) { a = Neg (x) },"
      "else_branch = e () => (float[n] b) { b = Abs (x) }> }",
      "Add");
  EXPECT_EQ(ProducerOf(graph, "twice").provider, "cpu");
  EXPECT_EQ(graph.num_nodes(), 4) << "nothing is copied";
}

TEST(Place, TheDeviceComputesWhatItReadsTooOrIsLarge) {
  const Graph read = Placed(
      "g (int64[1] a, int64[1] b) => (int64[1] y, int64[1] z) "
      "{ sum = Add (a, b) y = Add (sum, a) z = Neg (sum) }",
      "Add");
  EXPECT_EQ(ProducerOf(read, "z").op_type, "Neg");
  EXPECT_EQ(ProducerOf(read, "sum").provider, "Add_device");
  const Graph large = Placed(
      "g (int64[100] a, int64[100] b) => (int64[100] y) { sum = Add (a, b) y = Neg (sum) }", "Add");
  EXPECT_EQ(ProducerOf(large, "sum").provider, "Add_device");
}

TEST(Place, WhatABodyCapturesIsCopiedToTheHost) {
  const Graph graph = Placed(
      "g (bool c, float[n] x) => (float[n] y) { s = Add (x, x) y = If (c) <"
      "then_branch = t () => (float[n] a) { a = Neg (s) },"
      "else_branch = e () => (float[n] b) { b = Abs (s) }> }",
      "Add");
  const Node& branches = ProducerOf(graph, "y");
  EXPECT_EQ(branches.provider, "cpu");
  for (const Subgraph& body : branches.subgraphs) {
    ASSERT_EQ(body.captures.size(), 1u);
    const Node& copy = graph.node(graph.value(body.captures[0]).producer);
    EXPECT_EQ(copy.op_type, "Copy");
    EXPECT_EQ(graph.value(copy.inputs[0]).name, "s");
    EXPECT_EQ(copy.attributes.String("to"), "cpu");
  }
}

}  // namespace
}  // namespace onward::executors
