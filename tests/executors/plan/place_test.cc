#include "executors/plan/place.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"

namespace onward {
namespace {

// A device in host memory that computes Sum.
class SumDevice : public ExecutionProvider {
 public:
  SumDevice() {
    for (const KernelEntry* entry : FindKernels(CpuProvider(), "", "Sum"))
      kernels_.push_back(*entry);
  }
  std::string_view name() const override { return "sum_device"; }
  const std::vector<KernelEntry>& kernels() const override { return kernels_; }
  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t bytes) const override {
    return std::shared_ptr<void>(std::malloc(static_cast<size_t>(bytes)), std::free);
  }
  absl::Status Copy(void* to, const void* from, int64_t bytes, bool, void*) const override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }

 private:
  std::vector<KernelEntry> kernels_;
};

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

  const absl::Status placed = Place(graph, SumDevice(), KernelOptions());
  ASSERT_TRUE(placed.ok()) << placed;
  EXPECT_EQ(graph.node(id).provider, "sum_device");
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

}  // namespace
}  // namespace onward
