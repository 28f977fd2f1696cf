// NVRTC itself, which needs no device, compiles what the emulated device runs, without a warning.
#include "kernels/cuda/elementwise_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "graph/fused/elementwise_steps.h"
#include "graph/infer/infer.h"
#include "graph/ops/onward_schemas.h"
#include "graph/passes/passes.h"
#include "kernels/cuda/nvrtc.h"
#include "tests/support/elementwise_groups.h"
#include "tests/support/text_model.h"

namespace onward::kernels::cuda {
namespace {

// The source of the one group that the graph becomes.
std::string SourceOf(const testing::ElementwiseGroup& group, DType dtype, Precision precision) {
  const Graph graph = testing::Optimize(
      testing::TextOf(group, dtype),
      {{"merge_chains", MergeChains}, {"fuse_elementwise", FuseElementwise, false}}, 1e-2);
  const std::vector<NodeId> nodes = graph.node_ids();
  EXPECT_EQ(nodes.size(), 1u) << testing::Nodes(graph);
  if (nodes.size() != 1 || !graph.node(nodes[0]).Is(fused::kElementwise, kOnwardDomain)) return "";
  KernelOptions options;
  options.precision = precision;
  const auto source = WriteElementwiseSource(NodeSpec(graph, nodes[0], options));
  EXPECT_TRUE(source.ok()) << source.status();
  return source.ok() ? source->text : "";
}

TEST(ElementwiseSource, IsCompiledByNvrtcWithoutWarnings) {
  if (const absl::Status found = FindNvrtc(); !found.ok()) GTEST_SKIP() << found;
  for (const testing::ElementwiseGroup& group : testing::ElementwiseGroups()) {
    for (const DType dtype : group.dtypes) {
      for (const char* architecture : {"sm_80", "sm_90"}) {
        if (dtype != group.dtypes[0] && architecture != std::string("sm_80")) continue;
        SCOPED_TRACE(group.name + " " + std::string(DTypeName(dtype)) + " " + architecture);
        const std::string source = SourceOf(group, dtype, Precision::kDefault);
        const auto code = CompileToMachineCode(source, architecture, {});
        ASSERT_TRUE(code.ok()) << code.status() << "\n" << source;
        EXPECT_EQ(code->log, "") << source;
        EXPECT_EQ(code->bytes.substr(0, 4),
                  "\x7f"
                  "ELF");
      }
    }
  }
}

// The refusal of the node that makes y, of a file.
std::string RefusalOf(const std::string& outputs, const std::string& node) {
  const auto model = testing::ModelFromText("g (float[4] a, float[1] b) => (" + outputs + ") {" +
                                            node + " (a, b) }");
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return "";
  Graph graph = model->graph;
  EXPECT_TRUE(InferGraph(graph).ok());
  const auto source = WriteElementwiseSource(NodeSpec(graph, graph.node_ids()[0], {}));
  return source.ok() ? "" : std::string(source.status().message());
}

TEST(ElementwiseSource, IsWrittenWhereInputsBroadcastToAllOutputs) {
  EXPECT_EQ(
      RefusalOf("float[4] y", "y = onward.Elementwise <steps = [\"Add 0 1\"], results = [2]>"), "");
  EXPECT_EQ(
      RefusalOf("float[4] y, float[1] z",
                "y, z = onward.Elementwise <steps = [\"Add 0 1\", \"Neg 1\"], results = [2, 3]>"),
      "only outputs that are known to have one shape");
  EXPECT_EQ(RefusalOf("float[1] y",
                      "y = onward.Elementwise <steps = [\"Add 0 1\", \"Neg 1\"], results = [3]>"),
            "only inputs that an output depends on");
}

TEST(ElementwiseSource, IsWrittenForKnownDTypes) {
  auto model = testing::ModelFromText(
      "g (a) => (y) { y = onward.Elementwise <steps = [\"Neg 0\"], results = [1]> (a) }");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto source =
      WriteElementwiseSource(NodeSpec(model->graph, model->graph.node_ids()[0], {}));
  EXPECT_EQ(source.status().message(), "no loop for dtype undefined");
}

TEST(ElementwiseSource, IsTestedForEveryOp) {
  for (const fused::StepOp& op : fused::StepOps()) {
    const std::string name(op.op);
    const auto& groups = testing::ElementwiseGroups();
    EXPECT_TRUE(std::any_of(groups.begin(), groups.end(),
                            [&](const testing::ElementwiseGroup& group) {
                              return group.text.find(name + " (") != std::string::npos ||
                                     group.text.find(name + " <") != std::string::npos;
                            }))
        << name << " is in no group of tests/support/elementwise_groups.cc";
  }
}

TEST(ElementwiseSource, OfStrictArithmeticRoundsEachStep) {
  const testing::ElementwiseGroup group = {
      "strict", "g ({T}[n] a, {T}[n] b) => ({T}[n] y) { p = Mul (a, b) y = Add (p, a) }", {}};
  const std::string source = SourceOf(group, DType::kFloat16, Precision::kStrict);
  EXPECT_NE(source.find("AsHeld<Float16>"), std::string::npos) << source;
  EXPECT_EQ(SourceOf(group, DType::kFloat16, Precision::kDefault).find("AsHeld"),
            std::string::npos);
  if (const absl::Status found = FindNvrtc(); !found.ok()) GTEST_SKIP() << found;
  const auto code = CompileToMachineCode(source, "sm_80", {"--fmad=false"});
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(code->log, "");
}

TEST(ElementwiseSource, ThatIsWrongIsRefusedWithNvrtcsLog) {
  if (const absl::Status found = FindNvrtc(); !found.ok()) GTEST_SKIP() << found;
  const auto code = CompileToMachineCode("int f() { return absent; }", "sm_80", {});
  EXPECT_EQ(code.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(code.status().message().find("identifier \"absent\" is undefined"), std::string::npos)
      << code.status();
}

}  // namespace
}  // namespace onward::kernels::cuda
