#include "onward/export.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/opset.h"
#include "gtest/gtest.h"
#include "onnx/checker.h"
#include "onnx/onnx_pb.h"
#include "onward/builder.h"
#include "onward/import.h"
#include "tests/support/proto_text.h"
#include "tests/support/same_model.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/test_data.h"

namespace onward::onnx_io {
namespace {

using testing::GraphDifference;
using ::testing::HasSubstr;
using testing::ModelDifference;
using testing::ProtoFromText;
using testing::ScratchDirectory;

onnx::ModelProto Export(const Model& model, const ExportOptions& options = {}) {
  onnx::ModelProto proto;
  const auto bytes = ExportBytes(model, options);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_TRUE(bytes.ok() && proto.ParseFromString(*bytes));
  return proto;
}

Model FromText(const std::string& text) {
  auto model = ImportBytes(ProtoFromText(text).SerializeAsString());
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : Model();
}

int64_t OpsetOf(const onnx::ModelProto& proto) {
  for (const auto& id : proto.opset_import()) {
    if (id.domain().empty()) return id.version();
  }
  return 0;
}

constexpr char kRich[] = R"(
  <ir_version: 10, opset_import: ["" : 21], producer_name: "maker", doc_string: "about">
  g (bool c, float[N,2] x) => (float[N,2] y, seq(float[2]) s) <float[2] w = {1, 2}> {
    [sum] t = Add(x, w)
    y = If(c) <
      then_branch = a () => (float[N,2] p) { k = Constant <value = float[1] {3}> () p = Mul(t, k) },
      else_branch = b () => (float[N,2] q) { q = LeakyRelu <alpha = 0.5> (t) }>
    s = SequenceConstruct(w)
  })";

TEST(ExportTest, ARoundTripChangesNothing) {
  Model model = FromText(kRich);
  model.metadata["license"] = "free";
  model.graph.metadata["part"] = "all";
  GraphEdit(model.graph).doc_string(model.graph.inputs()[1]) = "what comes in";
  GraphEdit(model.graph).node({0}).metadata["from"] = "layer 1";
  model.updates.push_back({model.graph.inputs()[1], model.graph.outputs()[0]});
  const auto again = ImportBytes(Export(model).SerializeAsString());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ModelDifference(model, *again), "");
}

TEST(ExportTest, WritesTheOldestOpsetThatWillDo) {
  const Model plain = FromText(kRich);
  EXPECT_EQ(OpsetOf(Export(plain)), 21);
  EXPECT_EQ(Export(plain).ir_version(), 10);
  const Model newer = FromText(R"(
    <ir_version: 10, opset_import: ["" : 24]> g (float[2] x) => (float[2] y) { y = Swish(x) })");
  EXPECT_EQ(OpsetOf(Export(newer)), 24);
  // bfloat16 came to this op later than the op itself.
  const Model typed = FromText(R"(
    <ir_version: 10, opset_import: ["" : 22]> g (bfloat16[2] x) => (bfloat16[2] y) { y = Sin(x) })");
  EXPECT_EQ(OpsetOf(Export(typed)), 22);
  // Opset 28 took integers away from this op; floats mean what they meant.
  const Model narrowed = FromText(R"(
    <ir_version: 10, opset_import: ["" : 28]> g (float[2,3] x) => (float y) {
      y = ReduceLogSumExp <keepdims = 0> (x)
    })");
  EXPECT_EQ(OpsetOf(Export(narrowed)), 21);
  ExportOptions options;
  options.opset = 26;
  EXPECT_EQ(OpsetOf(Export(plain, options)), 26);
  EXPECT_EQ(Export(plain, options).ir_version(), 13);
  options.opset = 22;
  EXPECT_EQ(OpsetOf(Export(newer, options)), 22);  // as the op's function body
}

TEST(ExportTest, LargeTensorsGoToAFileBesideTheModel) {
  const ScratchDirectory directory;
  Model model = FromText(kRich);
  const ValueId w = model.graph.FindValue("w");
  GraphEdit(model.graph).constant(w) = Tensor::Of<float>({2}, {5, 6});
  ExportOptions options;
  options.external_data_threshold = 8;
  const absl::Status status = ExportFile(model, directory.path("m.onnx"), options);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(std::filesystem::file_size(directory.path("m.onnx.data")), 8u);
  const auto again = ImportFile(directory.path("m.onnx"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ModelDifference(model, *again), "");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    EXPECT_THAT(entry.path().string(), ::testing::Not(HasSubstr(".tmp")));
    ++files;
  }
  EXPECT_EQ(files, 2);
}

// Kills a process that writes one model after the other onto the same path: what is left is one
// of them, with its own data.
TEST(ExportTest, AModelAndItsDataAreReplacedTogether) {
  const ScratchDirectory directory;
  const std::string path = directory.path("m.onnx");
  const auto write = [&](int generation) {
    Model model = FromText(kRich);
    model.doc_string = absl::StrCat(generation);
    const auto number = static_cast<float>(generation);
    GraphEdit(model.graph).constant(model.graph.FindValue("w")) =
        Tensor::Of<float>({2}, {number, number});
    ExportOptions options;
    options.external_data_threshold = 8;
    return ExportFile(model, path, options);
  };
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(write(0).ok());
  const auto taken = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  const auto most = static_cast<unsigned>(std::max<int64_t>(20000, 4 * taken.count()));
  std::random_device device;
  const unsigned seed = device();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  int last = 0;
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int generation = last + 1; write(generation).ok(); ++generation) continue;
      _exit(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % most));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto model = ImportFile(path);
    ASSERT_TRUE(model.ok()) << model.status();
    const Tensor& w = *model->graph.constant(model->graph.FindValue("w"));
    ASSERT_TRUE(absl::SimpleAtoi(model->doc_string, &last));
    ASSERT_EQ(w.data<float>()[0], static_cast<float>(last)) << "kill " << i;
    ASSERT_EQ(w.data<float>()[1], static_cast<float>(last)) << "kill " << i;
  }
  EXPECT_GT(last, 0);
  // What the killed ones left of data goes with the next model.
  ASSERT_TRUE(write(last + 1).ok());
  int data = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    data += entry.path().extension() == ".data";
  EXPECT_EQ(data, 1);
}

TEST(ExportTest, AnUnwritablePathIsAnError) {
  const absl::Status status = ExportFile(FromText(kRich), "/nonexistent/directory/m.onnx");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/directory/m.onnx"));
}

TEST(ExportTest, NamesOfSubgraphsDoNotHideOuterNames) {
  Model model = FromText(kRich);
  Graph& branch = *model.graph.node({1}).subgraphs[0].graph;
  GraphEdit(branch).Rename(branch.FindValue("p"), "y");
  GraphEdit(branch).Rename(branch.FindValue("k"), "w");
  const onnx::ModelProto proto = Export(model);
  EXPECT_NO_THROW(onnx::checker::check_model(proto, true));
  const auto again = ImportBytes(proto.SerializeAsString());
  ASSERT_TRUE(again.ok()) << again.status();
}

Model WithFusedOps() {
  Model model;
  model.opsets[""] = kOpset;
  model.graph.name = "g";
  Graph& graph = model.graph;
  const ValueId x = GraphEdit(graph).AddInput("x", Type::Tensor(DType::kFloat32, {1, 2, 4, 4}));
  const ValueId w =
      GraphEdit(graph).AddConstant("w", Tensor::Of<float>({2, 2, 1, 1}, {1, 2, 3, 4}));
  ValueId last = x;
  for (const char* activation : {"relu", "tanh", "relu"}) {
    Node node;
    node.domain = kOnwardDomain;
    node.op_type = "FusedConv";
    node.schema = FindSchema("FusedConv", kOnwardDomain);
    node.name = absl::StrCat("conv_", graph.num_nodes());
    node.attributes.Set("activation", std::string(activation));
    node.inputs = {last, w};
    last = GraphEdit(graph).AddValue(absl::StrCat("y", graph.num_nodes()),
                                     Type::Tensor(DType::kFloat32, {1, 2, 4, 4}));
    node.outputs = {last};
    GraphEdit(graph).AddNode(std::move(node));
  }
  GraphEdit(graph).AddOutput(last);
  return model;
}

TEST(ExportTest, OurOwnOpsBecomeLocalFunctions) {
  const Model model = WithFusedOps();
  const onnx::ModelProto proto = Export(model);
  // Two bodies: relu and tanh.
  ASSERT_EQ(proto.functions_size(), 2);
  EXPECT_EQ(proto.functions(0).name(), "FusedConv");
  EXPECT_EQ(proto.graph().node(0).overload(), proto.graph().node(2).overload());
  EXPECT_NE(proto.graph().node(0).overload(), proto.graph().node(1).overload());
  EXPECT_NO_THROW(onnx::checker::check_model(proto, true));
  const auto again = ImportBytes(proto.SerializeAsString());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(GraphDifference(model.graph, again->graph), "");
}

TEST(ExportTest, OpsOfGradientsBecomeLocalFunctions) {
  GraphBuilder b;
  const Expr x = b.Input("x", DType::kFloat32, {"n", 4}),
             dy = b.Input("dy", DType::kFloat32, {"n", 4});
  b.Output("dx", b.Op("ReluGradient", {x, dy}, {}, kOnwardDomain));
  const absl::StatusOr<Model> model = b.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const onnx::ModelProto proto = Export(*model);
  ASSERT_EQ(proto.functions_size(), 1);
  EXPECT_EQ(proto.functions(0).name(), "ReluGradient");
  EXPECT_NO_THROW(onnx::checker::check_model(proto, true));
  const auto bytes = ExportBytes(*model, {.keep_onward_ops = true});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  onnx::ModelProto kept;
  ASSERT_TRUE(kept.ParseFromString(*bytes));
  EXPECT_EQ(kept.functions_size(), 0);
  EXPECT_EQ(kept.graph().node(0).op_type(), "ReluGradient");
}

void RoundTripAll(const std::string& directory) {
  int models = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().string());
    ++models;
    const auto model = ImportFile(entry.path().string());
    ASSERT_TRUE(model.ok()) << model.status();
    const auto bytes = ExportBytes(*model);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto again = ImportBytes(*bytes);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(ModelDifference(*model, *again), "");
    onnx::ModelProto proto;
    ASSERT_TRUE(proto.ParseFromString(*bytes));
    EXPECT_NO_THROW(onnx::checker::check_model(proto, true));
  }
  EXPECT_GT(models, 0);
}

TEST(ExportTest, RealModelsRoundTrip) {
  const std::string data = testing::DirectoryFrom("ONWARD_DATA_DIR");
  ONWARD_NEEDS_DATA(data, "ONWARD_DATA_DIR");
  RoundTripAll(data + "/models");
}

TEST(ExportTest, TheStandardsModelsRoundTrip) {
  const std::string conformance = testing::DirectoryFrom("ONWARD_CONFORMANCE");
  ONWARD_NEEDS_DATA(conformance, "ONWARD_CONFORMANCE");
  for (const char* kind : {"simple", "light", "pytorch-operator"}) {
    RoundTripAll(conformance + "/" + kind);
  }
}

}  // namespace
}  // namespace onward::onnx_io
