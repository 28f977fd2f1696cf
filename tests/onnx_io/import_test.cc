#include "onward/import.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "graph/ir/verify.h"
#include "graph/ops/opset.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/support/proto_text.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_directory.h"

namespace onward::onnx_io {
namespace {

using ::testing::ElementsAre;
using testing::ProtoFromText;

Model Import(const onnx::ModelProto& proto) {
  absl::StatusOr<Model> model = ImportBytes(proto.SerializeAsString());
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  EXPECT_TRUE(Verify(model->graph).ok()) << Verify(model->graph);
  return *std::move(model);
}

std::vector<std::string> Ops(const Graph& graph) {
  std::vector<std::string> ops;
  const std::vector<NodeId> order = graph.TopologicalOrder().value();
  for (const NodeId id : order) ops.push_back(graph.node(id).op_type);
  return ops;
}

const ValueData& Named(const Graph& graph, const std::string& name) {
  const ValueId id = graph.FindValue(name);
  EXPECT_TRUE(id.valid()) << name;
  return graph.value(id);
}

TEST(ImportTest, KeepsWhatTheFileSays) {
  onnx::ModelProto proto = ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3], producer_name: "maker",
     producer_version: "2", domain: "org", model_version: 7, doc_string: "about">
    g (float[N,3] x) => (float[N,3] y) <float[3] w = {1, 2, 3}> { [sum] y = Add(x, w) }
  )");
  auto* entry = proto.add_metadata_props();
  entry->set_key("license");
  entry->set_value("free");
  proto.mutable_graph()->mutable_node(0)->set_doc_string("adds");
  proto.mutable_graph()->mutable_input(0)->set_doc_string("what comes in");
  const Model model = Import(proto);
  EXPECT_EQ(model.ir_version, 10);
  EXPECT_EQ(model.opsets.at(""), kOpset);
  EXPECT_EQ(model.opsets.at("ai.onnx.ml"), kMlOpset);
  EXPECT_EQ(model.producer_name + model.producer_version, "maker2");
  EXPECT_EQ(model.domain, "org");
  EXPECT_EQ(model.model_version, 7);
  EXPECT_EQ(model.doc_string, "about");
  EXPECT_EQ(model.metadata.at("license"), "free");
  const Graph& graph = model.graph;
  EXPECT_EQ(graph.name, "g");
  EXPECT_EQ(graph.type(graph.inputs()[0]).ToString(), "float32[N,3]");
  EXPECT_EQ(graph.value(graph.inputs()[0]).doc_string, "what comes in");
  EXPECT_EQ(graph.node({0}).name, "sum");
  EXPECT_EQ(graph.node({0}).doc_string, "adds");
  EXPECT_THAT(Named(graph, "w").constant->span<float>(), ElementsAre(1, 2, 3));
}

TEST(ImportTest, NamesTheWeightsOfConstantNodesWhereNoInitializerHasFloats) {
  const auto weights = [](const std::string& initializers) {
    const onnx::ModelProto proto = ProtoFromText(R"(
      <ir_version: 10, opset_import: ["" : 21]>
      g (float[N,2] x) => (float[N,2] y) <int64[1] axes = {1})" +
                                                 initializers + R"(> {
        w = Constant <value = float[2, 2] {1, 2, 3, 4}> ()
        places = Constant <value = int64[1] {0}> ()
        half = Constant <value_float = 0.5> ()
        s = ReduceSum (x, axes) m = MatMul (x, w) h = Mul (m, half) g = Gather (h, places)
        y = Sub (h, s)
      })");
    std::vector<std::string> names;
    ImportOptions options;
    options.initializers = &names;
    EXPECT_TRUE(ImportBytes(proto.SerializeAsString(), "", options).ok());
    return names;
  };
  EXPECT_THAT(weights(""), ElementsAre("axes", "w"));
  EXPECT_THAT(weights(", float[1] bias = {1}"), ElementsAre("axes", "bias"));
}

TEST(ImportTest, SubgraphsCaptureExplicitlyThroughEveryLevel) {
  const Model model = Import(ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (bool c, float[2] x) => (float[2] y) {
      z = Relu(x)
      y = If(c) <
        then_branch = outer () => (float[2] a) {
          a = If(c) <then_branch = inner () => (float[2] b) { b = Add(z, x) },
                     else_branch = other () => (float[2] d) { d = Neg(z) }>
        },
        else_branch = last () => (float[2] e) { e = Identity(x) }>
    })"));
  const Node& outer = model.graph.node({1});
  ASSERT_EQ(outer.op_type, "If");
  const Subgraph& then_branch = *outer.FindSubgraph("then_branch");
  const auto names = [](const Graph& graph, const std::vector<ValueId>& ids) {
    std::vector<std::string> result;
    for (const ValueId id : ids) result.push_back(graph.value(id).name);
    return result;
  };
  EXPECT_THAT(names(model.graph, then_branch.captures), ElementsAre("c", "z", "x"));
  EXPECT_THAT(names(*then_branch.graph, then_branch.graph->captures()), ElementsAre("c", "z", "x"));
  const Subgraph& inner = *then_branch.graph->node({0}).FindSubgraph("then_branch");
  EXPECT_THAT(names(*then_branch.graph, inner.captures), ElementsAre("z", "x"));
}

TEST(ImportTest, NodesMayStandInAnyOrder) {
  const Model model = Import(ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[2] x) => (float[2] y) { y = Neg(z)  z = Relu(x) })"));
  EXPECT_THAT(Ops(model.graph), ElementsAre("Relu", "Neg"));
}

TEST(ImportTest, ConstantNodesAreConstants) {
  const Model model = Import(ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g () => (float y, int64[2] z) {
      y = Constant <value_float: float = 2.5> ()
      z = Constant <value_ints: ints = [3, 4]> ()
    })"));
  EXPECT_EQ(model.graph.num_nodes(), 0);
  EXPECT_THAT(Named(model.graph, "y").constant->span<float>(), ElementsAre(2.5f));
  EXPECT_THAT(Named(model.graph, "z").constant->span<int64_t>(), ElementsAre(3, 4));
}

TEST(ImportTest, InitializersThatAreInputsAreDefaultsSinceIr4) {
  const std::string text =
      "opset_import: [\"\" : 7]> g (float[2] x, float[2] w = {1, 2}) => (float[2] y) "
      "{ y = Add(x, w) }";
  const Model newer = Import(ProtoFromText("<ir_version: 4, " + text));
  ASSERT_EQ(newer.graph.inputs().size(), 2u);
  EXPECT_TRUE(newer.graph.is_constant(newer.graph.inputs()[1]));
  const Model older = Import(ProtoFromText("<ir_version: 3, " + text));
  EXPECT_EQ(older.graph.inputs().size(), 1u);
  EXPECT_TRUE(Named(older.graph, "w").constant.has_value());
}

TEST(ImportTest, OldOpsetsAreUpgraded) {
  const Model model = Import(ProtoFromText(R"(
    <ir_version: 4, opset_import: ["" : 9]>
    g (float[1,2] x) => (float[2] y) { y = Squeeze <axes = [0]> (x) })"));
  EXPECT_EQ(model.graph.node(Named(model.graph, "y").producer).inputs.size(), 2u);
}

TEST(ImportTest, FunctionsAreExpandedWithAttributesAndOmittedInputs) {
  const Model model = Import(ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21, "local" : 1]>
    g (float[2] x) => (float[2] y, float[2] z) {
      [first] y = local.Shift <alpha = 0.5> (x)
      [second] z = local.Shift (y)
    }
    <domain: "local", opset_import: ["" : 21]>
    Shift <alpha: float = 0.25, mode: string = "x"> (v, low) => (w) {
      t = LeakyRelu <alpha: float = @alpha> (v)
      w = Clip (t, low)
    })"));
  EXPECT_THAT(Ops(model.graph), ElementsAre("LeakyRelu", "Clip", "LeakyRelu", "Clip"));
  const std::vector<NodeId> order = model.graph.TopologicalOrder().value();
  EXPECT_EQ(model.graph.node(order[0]).attributes.Float("alpha", 0), 0.5f);
  EXPECT_EQ(model.graph.node(order[2]).attributes.Float("alpha", 0), 0.25f);
  EXPECT_FALSE(model.graph.node(order[1]).inputs[1].valid());
  EXPECT_TRUE(model.graph.FindValue("first/t").valid());
  EXPECT_TRUE(model.graph.FindValue("second/t").valid());
  EXPECT_TRUE(model.graph.is_output(
      Named(model.graph, "z").producer.valid() ? model.graph.FindValue("z") : ValueId()));
}

TEST(ImportTest, FunctionsMayHaveAnOpsetOfTheirOwnAndSubgraphs) {
  const Model model = Import(ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21, "local" : 1]>
    g (bool c, float[1,2] x) => (float[2] y) { y = local.Pick (c, x) }
    <domain: "local", opset_import: ["" : 11]>
    Pick (c, v) => (w) {
      s = Squeeze <axes = [0]> (v)
      w = If(c) <then_branch = t () => (a) { a = Neg(s) },
                 else_branch = e () => (b) { b = Identity(s) }>
    })"));
  const Node& branch = model.graph.node(Named(model.graph, "y").producer);
  EXPECT_EQ(branch.op_type, "If");
  EXPECT_EQ(branch.subgraphs[0].captures.size(), 1u);
  EXPECT_EQ(model.graph.type(model.graph.outputs()[0]).ToString(), "float32[2]");
}

TEST(ImportTest, AFunctionThatPassesAnInputThroughCopiesIt) {
  const Model model = Import(ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21, "local" : 1]>
    g (float[2] x) => (float[2] y, float[2] z) { y, z = local.Both (x) }
    <domain: "local", opset_import: ["" : 21]>
    Both (v) => (v, n) { n = Neg(v) })"));
  EXPECT_EQ(model.graph.node(Named(model.graph, "y").producer).op_type, "Identity");
  EXPECT_EQ(model.graph.node(Named(model.graph, "z").producer).op_type, "Neg");
}

onnx::ModelProto WithExternalWeights(const std::string& location, int64_t offset) {
  onnx::ModelProto proto = ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[32] x) => (float[32] y) { y = Add(x, w) })");
  onnx::TensorProto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(32);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    tensor->add_external_data()->set_key(key);
    tensor->mutable_external_data(tensor->external_data_size() - 1)->set_value(value);
  };
  add("location", location);
  add("offset", std::to_string(offset));
  add("length", "128");
  return proto;
}

std::string Weights(size_t before) {
  std::string bytes(before + 128, '\0');
  const float value = 2.5f;
  for (size_t i = 0; i < 32; ++i) std::memcpy(&bytes[before + 4 * i], &value, 4);
  return bytes;
}

TEST(ImportTest, ExternalDataIsUsedInPlaceWhereAlignedAndCopiedElsewhere) {
  for (const int64_t offset : {4096, 4, 1}) {
    const testing::ScratchDirectory directory;
    directory.Write("sub/w.bin", Weights(static_cast<size_t>(offset)));
    const std::string file =
        directory.Write("model.onnx", WithExternalWeights("sub/w.bin", offset).SerializeAsString());
    const auto model = ImportFile(file);
    ASSERT_TRUE(model.ok()) << model.status();
    const Tensor& w = *Named(model->graph, "w").constant;
    EXPECT_EQ(w.data<float>()[31], 2.5f);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(w.raw_data()) % kTensorAlignment, 0u);
  }
}

// Download caches keep links in one directory to blobs in another.
TEST(ImportTest, ALinkedModelFindsExternalDataBesideTheLinkAndBesideTheFile) {
  const testing::ScratchDirectory directory;
  directory.Write("blobs/bbb", Weights(0));
  directory.Write("blobs/aaa", WithExternalWeights("w.bin", 0).SerializeAsString());
  std::filesystem::create_directories(directory.path("snapshot"));
  std::filesystem::create_symlink("../blobs/aaa", directory.path("snapshot/model.onnx"));
  std::filesystem::create_symlink("../blobs/bbb", directory.path("snapshot/w.bin"));
  const auto model = ImportFile(directory.path("snapshot/model.onnx"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Named(model->graph, "w").constant->data<float>()[0], 2.5f);
}

TEST(ImportTest, TrainingInformationIsPutOnTopWhenAskedFor) {
  onnx::ModelProto proto = ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) })");
  onnx::TrainingInfoProto* training = proto.add_training_info();
  *training->mutable_algorithm() = ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    step () => (float[2] next) <float[1] rate = {0.5}> { d = Mul(rate, y)  next = Sub(w, d) })")
                                       .graph();
  auto* binding = training->add_update_binding();
  binding->set_key("w");
  binding->set_value("next");
  const Model inference = Import(proto);
  EXPECT_THAT(Ops(inference.graph), ElementsAre("Mul"));
  EXPECT_TRUE(inference.updates.empty());
  ImportOptions options;
  options.training = true;
  const auto model = ImportBytes(proto.SerializeAsString(), "", options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Ops(model->graph), ElementsAre("Mul", "Mul", "Sub"));
  ASSERT_EQ(model->updates.size(), 1u);
  EXPECT_EQ(model->graph.value(model->updates[0].input).name, "w");
  EXPECT_TRUE(model->graph.is_input(model->updates[0].input));
  EXPECT_EQ(model->graph.value(model->updates[0].output).name, "next");
}

TEST(ImportTest, InitializationGraphsAreModelsOfTheirOwn) {
  onnx::ModelProto proto = ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) })");
  onnx::TrainingInfoProto* training = proto.add_training_info();
  *training->mutable_initialization() = ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    start () => (float[2] first) { first = RandomUniform<shape = [2], low = 5.0, high = 6.0>() })")
                                            .graph();
  auto* binding = training->add_initialization_binding();
  binding->set_key("w");
  binding->set_value("first");
  ImportOptions options;
  options.training = true;
  EXPECT_THAT(std::string(ImportBytes(proto.SerializeAsString(), "", options).status().message()),
              ::testing::HasSubstr("an initialization graph, which nobody asks for"));
  std::vector<TrainingInitialization> initializations;
  options.initializations = &initializations;
  const auto model = ImportBytes(proto.SerializeAsString(), "", options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->graph.is_input(model->graph.FindValue("w")));
  ASSERT_EQ(initializations.size(), 1u);
  EXPECT_THAT(Ops(initializations[0].model.graph), ElementsAre("RandomUniform"));
  ASSERT_EQ(initializations[0].bindings.size(), 1u);
  EXPECT_EQ(initializations[0].bindings[0].initializer, "w");
  EXPECT_EQ(initializations[0].bindings[0].output, "first");
  binding->set_value("last");
  EXPECT_THAT(std::string(ImportBytes(proto.SerializeAsString(), "", options).status().message()),
              ::testing::HasSubstr(
                  "initialization binding of 'w' to 'last': there is no such initializer"));
}

#ifndef ONWARD_SANITIZED
int64_t ResidentKilobytes(const char* key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind(key, 0) == 0) return std::stoll(line.substr(std::string(key).size()));
  }
  return 0;
}

TEST(ImportTest, WeightsAreInMemoryOnce) {
  constexpr int64_t kMegabytes = 96;
  const testing::ScratchDirectory directory;
  {
    onnx::ModelProto proto = ProtoFromText(R"(
      <ir_version: 10, opset_import: ["" : 21]> g (float[1] x) => (float[1] y) { y = Neg(x) })");
    onnx::TensorProto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(onnx::TensorProto::UINT8);
    tensor->add_dims(kMegabytes << 20);
    tensor->set_raw_data(std::string(kMegabytes << 20, 'w'));
    directory.Write("m.onnx", proto.SerializeAsString());
  }
  const int64_t before = ResidentKilobytes("VmRSS:");
  const auto model = ImportFile(directory.path("m.onnx"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_LT(ResidentKilobytes("VmRSS:") - before, kMegabytes * 1024 * 13 / 10);
}
#endif

TEST(ImportTest, InspectionKeepsWhatIsUnknown) {
  const onnx::ModelProto proto = ProtoFromText(R"(
    <ir_version: 10, opset_import: ["" : 21, "com.acme" : 1]>
    g (float[2] x) => (float[2] y) { t = com.acme.Turn(x)  y = Neg(t) })");
  ImportOptions options;
  options.for_inspection = true;
  const auto model = ImportBytes(proto.SerializeAsString(), "", options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph.node({0}).schema, nullptr);
  EXPECT_EQ(model->graph.node({0}).op_type, "Turn");
  const testing::ScratchDirectory directory;
  const std::string file =
      directory.Write("m.onnx", WithExternalWeights("gone", 0).SerializeAsString());
  const auto missing = ImportFile(file, options);
  ASSERT_TRUE(missing.ok()) << missing.status();
  EXPECT_EQ(Named(missing->graph, "w").constant->raw_data(), nullptr);
}

}  // namespace
}  // namespace onward::onnx_io
