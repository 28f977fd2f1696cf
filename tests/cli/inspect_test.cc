// onward inspect: opsets, sizes, parameters; and the sizes that drawn inputs have.
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "onward/export.h"
#include "onward/models.h"
#include "onward/nn/parameters.h"
#include "tests/support/proto_text.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Output(const testing::ScratchDirectory& directory, const std::string& arguments,
                   int code = 0, const std::string& command = "inspect") {
  const std::string log = directory.path("log");
  const int status = std::system(
      absl::StrCat(ONWARD_PROGRAM, " ", command, " ", arguments, " >", log, " 2>&1").c_str());
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, code) << arguments;
  std::ifstream file(log);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What modules and Freeze say of parameters is in the file.
TEST(InspectCommand, ListsParameters) {
  const testing::ScratchDirectory directory;
  auto model = BuildModel("resnet_cifar", {{"width", 2}, {"size", 8}});
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(nn::Freeze(*model, {"conv1.*"}).ok());
  const std::string path = directory.path("model.onnx");
  ASSERT_TRUE(ExportFile(*model, path).ok());
  const std::string text = Output(directory, path + " --parameters");
  EXPECT_THAT(text,
              ::testing::ContainsRegex("conv1.weight +float32.2,3,3,3. +54  frozen +kaiming"));
  EXPECT_THAT(text, ::testing::ContainsRegex("bn1.running_mean +float32.2. +2  buffer"));
  EXPECT_THAT(text, ::testing::ContainsRegex("fc.bias +float32.10. +10  yes +uniform"));
  const auto document = nlohmann::json::parse(Output(directory, path + " --parameters --json"));
  const auto& list = document["parameter_list"];
  EXPECT_EQ(list.size(), nn::Parameters(*model).size());
  EXPECT_EQ(list[0]["name"], "conv1.weight");
  EXPECT_EQ(list[0]["trainable"], false);
  EXPECT_EQ(list[0]["reason"], "frozen");
}

// Two layers in a Sequential, one of which a Transpose makes a weight for, and a head.
TEST(InspectCommand, ListsModulesByTheNamesOfNodes) {
  const testing::ScratchDirectory directory;
  onnx::ModelProto proto = testing::ProtoFromText(R"(
      <ir_version: 8, opset_import: ["": 17]>
      g (float[batch,2] x) => (float[batch,3] y)
      <float[4,2] w = {1,2,3,4,5,6,7,8}, float[4] b = {0,0,0,0}, float[4,3] h =
       {1,2,3,4,5,6,7,8,9,10,11,12}>
      { t = Transpose <perm = [1, 0]> (w) p = MatMul(x, t) s = Add(p, b) r = Relu(s)
        y = MatMul(r, h) })");
  const char* names[] = {"/net/net.0/Transpose", "/net/net.0/MatMul", "/net/net.0/Add",
                         "/net/net.1/Relu", "/head/MatMul"};
  for (int i = 0; i < 5; ++i) proto.mutable_graph()->mutable_node(i)->set_name(names[i]);
  const std::string path = directory.Write("net.onnx", proto.SerializeAsString());
  const auto document =
      nlohmann::json::parse(Output(directory, path + " --modules --shape x=5x2 --json"));
  const auto expected = nlohmann::json::parse(R"([
      {"path": "", "class": "", "nodes": 5, "parameters": 24, "flops": 200,
       "output": "float32[5,3]"},
      {"path": "net", "class": "", "nodes": 4, "parameters": 12, "flops": 80,
       "output": "float32[5,4]"},
      {"path": "net.0", "class": "", "nodes": 3, "parameters": 12, "flops": 80,
       "output": "float32[5,4]"},
      {"path": "net.1", "class": "", "nodes": 1, "parameters": 0, "flops": 0,
       "output": "float32[5,4]"},
      {"path": "head", "class": "", "nodes": 1, "parameters": 12, "flops": 120,
       "output": "float32[5,3]"}])");
  EXPECT_EQ(document["modules"], expected) << document["modules"].dump(2);
  const std::string text = Output(directory, path + " --modules");
  EXPECT_THAT(text, ::testing::ContainsRegex("    0 +3 +12 +1.6e-05  float32.batch,4."));
}

TEST(InspectCommand, ListsModulesByTheNamesOfParameters) {
  const testing::ScratchDirectory directory;
  auto model = BuildModel("mlp", {{"features", 4}, {"layers", 1}, {"hidden", 3}, {"classes", 2}});
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string path = directory.path("model.onnx");
  ASSERT_TRUE(ExportFile(*model, path).ok());
  const auto document =
      nlohmann::json::parse(Output(directory, path + " --modules --json"))["modules"];
  int64_t inside = 0;
  for (const auto& row : document) {
    if (row["path"] != "") inside += row["parameters"].get<int64_t>();
  }
  EXPECT_EQ(document[0]["parameters"], 4 * 3 + 3 + 3 * 2 + 2);
  EXPECT_EQ(inside, 4 * 3 + 3 + 3 * 2 + 2) << document.dump(2);
}

// The language of Graphviz; `dot` draws it.
TEST(InspectCommand, DrawsTheGraph) {
  const testing::ScratchDirectory directory;
  onnx::ModelProto proto = testing::ProtoFromText(R"(
      <ir_version: 8, opset_import: ["": 17]>
      g (float[2] x, bool c) => (float[2] y) <float[2] w = {1,2}>
      { a = Mul(x, w)
        y = If (c) <then_branch = t () => (float[2] p) { p = Relu(a) },
                    else_branch = e () => (float[2] q) { q = Neg(a) }> })");
  proto.mutable_graph()->mutable_node(0)->set_name("/net/net.0/Mul");
  proto.mutable_graph()->mutable_node(1)->set_name("say \"if\"");
  const std::string path = directory.Write("model.onnx", proto.SerializeAsString());
  const std::string dot = directory.path("model.dot");
  Output(directory, absl::StrCat(path, " --picture ", dot));
  std::ifstream file(dot);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, R"(digraph "g" {
  node [shape=box fontname="sans-serif"]
  edge [fontname="sans-serif" fontsize=10]
  v0 [shape=oval label="x\nfloat32[2]"]
  v1 [shape=oval label="c\nbool[]"]
  n1 [label="If\nsay \"if\""]
  subgraph cluster_0 {
    label="then_branch of [If 'say \"if\"']" color=gray fontname="sans-serif"
    n1b0v1 [shape=oval label="a\nfloat32[2]"]
    n1b0n0 [label="Relu"]
    n1b0v1 -> n1b0n0 [label="float32[2]"]
    n1b0o0 [shape=oval label="p\nfloat32[2]"]
    n1b0n0 -> n1b0o0 [label="float32[2]"]
  }
  subgraph cluster_1 {
    label="else_branch of [If 'say \"if\"']" color=gray fontname="sans-serif"
    n1b1v1 [shape=oval label="a\nfloat32[2]"]
    n1b1n0 [label="Neg"]
    n1b1v1 -> n1b1n0 [label="float32[2]"]
    n1b1o0 [shape=oval label="q\nfloat32[2]"]
    n1b1n0 -> n1b1o0 [label="float32[2]"]
  }
  subgraph cluster_2 {
    label="net" color=gray fontname="sans-serif"
    subgraph cluster_3 {
      label="0" color=gray fontname="sans-serif"
      n0 [label="Mul\n/net/net.0/Mul"]
    }
  }
  v0 -> n0 [label="float32[2]"]
  v1 -> n1 [label="bool[]"]
  n0 -> n1b0v1 [label="float32[2]" style=dashed]
  n0 -> n1b1v1 [label="float32[2]" style=dashed]
  o0 [shape=oval label="y\nfloat32[2]"]
  n1 -> o0 [label="float32[2]"]
}
)");
}

// y = x w: 8 FLOP a row.
std::string Product(const testing::ScratchDirectory& directory) {
  return directory.Write("product.onnx", testing::ProtoFromText(R"(
      <ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
      g (float[batch,length,2] x, float[batch] z) => (float[batch,length,2] y, float[batch] v)
      <float[2,2] w = {1, 2, 3, 4}> { y = MatMul(x, w) v = Neg(z) })")
                                             .SerializeAsString());
}

TEST(InspectCommand, PrintsTheOpsetsOfTheFile) {
  const testing::ScratchDirectory directory;
  const std::string path = Product(directory);
  EXPECT_THAT(Output(directory, path),
              HasSubstr("opsets:     ai.onnx 17, ai.onnx.ml 3 (run as ai.onnx 28, ai.onnx.ml "));
  const auto document = nlohmann::json::parse(Output(directory, path + " --json"));
  EXPECT_EQ(document["opsets"]["ai.onnx"], 17);
  EXPECT_EQ(document["opsets"]["ai.onnx.ml"], 3);
  EXPECT_EQ(document["opsets_inside"]["ai.onnx"], 28);
}

TEST(InspectCommand, SaysWhichSizesAreTakenAsOne) {
  const testing::ScratchDirectory directory;
  const std::string path = Product(directory);
  EXPECT_THAT(Output(directory, path),
              AllOf(HasSubstr("arithmetic: 8e-09 GFLOP per run with batch = 1, length = 1: "
                              "8*batch*length FLOP"),
                    HasSubstr("at the peak with batch = 1, length = 1"), HasSubstr("--shape")));
  auto document = nlohmann::json::parse(Output(directory, path + " --json"));
  EXPECT_EQ(document["taken_as_one"], nlohmann::json({"batch", "length"}));
  EXPECT_EQ(document["flops_formula"], "8*batch*length");
  EXPECT_EQ(document["flops"], 8);
  EXPECT_EQ(document["peak_activation_bytes"],
            document["memory"]["values_bytes"].get<int64_t>() +
                document["memory"]["outputs_bytes"].get<int64_t>());

  const std::string shaped = Output(directory, path + " --shape x=3x5x2");
  EXPECT_THAT(shaped, AllOf(HasSubstr("arithmetic: 1.2e-07 GFLOP per run\n"),
                            HasSubstr("y: float32[3,5,2]"), HasSubstr("z: float32[3]"),
                            Not(HasSubstr(" = 1"))));
  document = nlohmann::json::parse(Output(directory, path + " --json --shape x=300x500x2"));
  EXPECT_EQ(document["flops"], 8 * 300 * 500);
  EXPECT_EQ(document["taken_as_one"].size(), 0u);
  EXPECT_GE(document["peak_activation_bytes"], 300 * 500 * 2 * 4);
  EXPECT_EQ(document["outputs"][0]["shape"], nlohmann::json({300, 500, 2}));
}

// Each row takes 8 FLOP; x and y 8 bytes a row each, z and v 4 bytes for each of the batch.
TEST(InspectCommand, SaysBothEndsOfRanges) {
  const testing::ScratchDirectory directory;
  const std::string path = Product(directory);
  const std::string text = Output(directory, path + " --shape x=1..8x500x2");
  EXPECT_THAT(text, AllOf(HasSubstr("arithmetic: 4e-06 to 3.2e-05 GFLOP per run with batch = 1 to "
                                    "8, length = 500: 8*batch*length FLOP\n"),
                          HasSubstr("x: float32[batch,length,2]")));
  EXPECT_THAT(text,
              ::testing::ContainsRegex(
                  "activations: [0-9.]+ to [0-9.]+ MB at the peak with batch = 1 to 8, "
                  "length = 500\nmemory: +[0-9.]+ (bytes|kB) to [0-9.]+ kB; at the upper end: "));
  const auto document =
      nlohmann::json::parse(Output(directory, path + " --json --shape x=1..8x500x2"));
  EXPECT_EQ(document["flops_range"], nlohmann::json({8 * 500, 8 * 8 * 500}));
  EXPECT_EQ(document["sizes"]["batch"], nlohmann::json({1, 8}));
  EXPECT_EQ(document["sizes"]["length"], nlohmann::json({500, 500}));
  EXPECT_EQ(document["taken_as_one"].size(), 0u);
  const auto memory = document["memory_range"].get<std::vector<double>>();
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_NEAR(memory[1] - memory[0], 7 * (2 * 500 * 8 + 2 * 4), 512);  // rounded up to lines
  const auto activations = document["peak_activation_bytes_range"].get<std::vector<double>>();
  ASSERT_EQ(activations.size(), 2u);
  EXPECT_NEAR(activations[1] - activations[0], 7 * (500 * 8 + 4), 512);
}

// Both ends are what a call with that end alone says.
TEST(InspectCommand, EndsOfRangesAreThoseOfSingleSizes) {
  const testing::ScratchDirectory directory;
  const std::string path = Product(directory);
  const auto inspected = [&](const std::string& shapes) {
    return nlohmann::json::parse(Output(directory, absl::StrCat(path, " --json ", shapes)));
  };
  const auto both = inspected("--shape x=2..3x40..700x2 --shape z=2..3");
  const auto low = inspected("--shape x=2x40x2 --shape z=2");
  const auto high = inspected("--shape x=3x700x2 --shape z=3");
  EXPECT_EQ(both["flops_range"], nlohmann::json({low["flops"], high["flops"]}));
  EXPECT_EQ(both["memory_range"],
            nlohmann::json({low["memory"]["total_bytes"], high["memory"]["total_bytes"]}));
  EXPECT_EQ(both["peak_activation_bytes_range"],
            nlohmann::json({low["peak_activation_bytes"], high["peak_activation_bytes"]}));
  EXPECT_FALSE(high.contains("flops_range"));
}

TEST(InspectCommand, SaysTheMemoryThatExplainSays) {
  const testing::ScratchDirectory directory;
  const std::string path = Product(directory);
  for (const char* shape : {"", " --shape x=300x500x2"}) {
    const std::string arguments = absl::StrCat(path, " --json", shape);
    const auto inspected = nlohmann::json::parse(Output(directory, arguments));
    const auto explained = nlohmann::json::parse(Output(directory, arguments, 0, "explain"));
    EXPECT_EQ(inspected["memory"], explained["memory"]);
    if (*shape == 0) continue;
    const auto ran = nlohmann::json::parse(Output(directory, arguments + " --random", 0, "run"));
    EXPECT_NEAR(inspected["memory"]["total_bytes"].get<double>(), ran["peak_bytes"].get<double>(),
                0.05 * ran["peak_bytes"].get<double>() + 256);
  }
}

// What cannot be compiled is estimated in the order of the file, and why is said.
TEST(InspectCommand, EstimatesWhatCannotBeCompiled) {
  const testing::ScratchDirectory directory;
  const std::string path = directory.path("unknown.onnx");
  std::ofstream(path, std::ios::binary)
      << testing::ProtoFromText(
             "<ir_version: 10, opset_import: [\"\" : 21, \"other\" : 1]>"
             "g (float[64] x) => (float[64] y) { h = Relu (x) y = other.Unknown (h) }")
             .SerializeAsString();
  EXPECT_THAT(Output(directory, path),
              AllOf(HasSubstr("in the order of the file"), HasSubstr("Unknown")));
  const auto document = nlohmann::json::parse(Output(directory, path + " --json"));
  EXPECT_GE(document["peak_activation_bytes"], 64 * 4);
  EXPECT_FALSE(document.contains("memory"));
  EXPECT_THAT(document["no_plan"].get<std::string>(), HasSubstr("Unknown"));
}

TEST(InspectCommand, RefusesShapesThatDoNotFit) {
  const testing::ScratchDirectory directory;
  const std::string path = Product(directory);
  EXPECT_THAT(Output(directory, path + " --shape xx=3x5x2", 1),
              HasSubstr("--shape xx=3x5x2: the model has no input 'xx'; did you mean 'x'?"));
  EXPECT_THAT(Output(directory, path + " --shape x=3x5x4", 1),
              HasSubstr("--shape x: input 'x' is float32[batch,length,2], got [3,5,4]"));
  EXPECT_THAT(Output(directory, path + " --shape x=3x5", 1), HasSubstr("got [3,5]"));
  EXPECT_THAT(Output(directory, path + " --shape x", 1), HasSubstr("'x' is not NAME=1x3x224x224"));
  for (const char* range : {"8..1", "1..", "..8", "1..2..3", "-1..8", "1...8"}) {
    EXPECT_THAT(Output(directory, absl::StrCat(path, " --shape x=", range, "x5x2"), 1),
                HasSubstr(absl::StrCat("'", range, "' is not LOW..HIGH")));
  }
  // Ranges are for what is said of a model; a run has one size.
  EXPECT_THAT(Output(directory, path + " --random --shape x=1..8x5x2", 1, "run"),
              HasSubstr("'1..8x5x2' is not a shape like 1x3x224x224"));
}

// The other commands that draw inputs: the same sizes, and the same word about them.
TEST(DrawnInputs, TakeSizesFromWhatIsGiven) {
  const testing::ScratchDirectory directory;
  const std::string path = Product(directory);
  const std::string ran = Output(directory, path + " --random --shape x=3x5x2", 0, "run");
  EXPECT_THAT(ran, AllOf(HasSubstr("v: float32[3]"), Not(HasSubstr("note:"))));
  EXPECT_THAT(Output(directory, path + " --random", 0, "run"),
              HasSubstr("note: sizes that were not given: batch = 1, length = 1 (--shape"));
  EXPECT_THAT(Output(directory, path + " --duration 0.01", 0, "bench"),
              HasSubstr("batch = 1, length = 1"));
  EXPECT_THAT(Output(directory, path, 0, "explain"),
              HasSubstr("bytes of values and scratch with batch = 1, length = 1"));
  EXPECT_THAT(Output(directory, path + " --shape xy=3x5x2", 1, "explain"),
              HasSubstr("the model has no input 'xy'; did you mean 'x'?"));
  EXPECT_THAT(Output(directory, path + " --shape x=3x5", 1, "explain"), HasSubstr("wrong rank"));
}

// Windows may want more than one element: what is known without sizes is printed.
TEST(DrawnInputs, ExplainNeedsNone) {
  const testing::ScratchDirectory directory;
  const auto model = testing::ModelFromText(
      "g (float[n, 1, h, w] x) => (float[n, 1, i, j] y) { y = MaxPool<kernel_shape = [2, 2]>(x) }");
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string path = directory.path() + "/pool.onnx";
  ASSERT_TRUE(ExportFile(*model, path).ok());
  EXPECT_THAT(Output(directory, path, 0, "explain"),
              AllOf(HasSubstr("MaxPool"), HasSubstr("memory plan: not known: "),
                    HasSubstr("(--shape NAME=DIMS gives the inputs sizes)")));
  EXPECT_THAT(Output(directory, path + " --shape x=1x1x4x4", 0, "explain"),
              HasSubstr("bytes of values and scratch"));
  EXPECT_THAT(Output(directory, path + " --shape x=1x1x1x4", 1, "explain"),
              HasSubstr("is larger than the padded input"));
}

}  // namespace
}  // namespace onward
