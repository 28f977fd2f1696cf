#include "onward/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "onnx/defs/schema.h"
#include "onward/builder.h"
#include "onward/functions.h"
#include "onward/read_image.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

const std::string kExamples = std::string(ONWARD_SOURCE_DIR) + "/examples/mnist/";

Tensor Digit(int digit) {
  const absl::StatusOr<Tensor> pixels =
      ReadImage(kExamples + "digits/" + std::to_string(digit) + ".png", true);
  EXPECT_TRUE(pixels.ok()) << pixels.status();
  Tensor input(DType::kFloat32, {1, 1, 28, 28});
  for (int64_t i = 0; i < 28 * 28; ++i) input.mutable_data<float>()[i] = pixels->data<uint8_t>()[i];
  return input;
}

std::unique_ptr<Session> LoadMnist(const SessionOptions& options = {}) {
  auto session = Session::Load(kExamples + "mnist-8.onnx", options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

NodeId Add(Graph& graph, const std::string& op, std::vector<ValueId> inputs, ValueId output,
           Attributes attributes = {}) {
  Node node;
  node.schema = onnx::OpSchemaRegistry::Schema(op, 28, "");
  node.op_type = op;
  node.name = op + "_node";
  node.inputs = std::move(inputs);
  node.outputs = {output};
  node.attributes = std::move(attributes);
  return GraphEdit(graph).AddNode(std::move(node));
}

// y = (x + x) reshaped to [-1], z = x * w; x: float32[n,3].
Model SmallModel() {
  Model model;
  model.opsets[""] = 28;
  Graph& graph = model.graph;
  const ValueId x = GraphEdit(graph).AddInput(
      "x", Type::Tensor(DType::kFloat32, SymbolicDims{Dim::Symbol("n"), Dim(3)}));
  const ValueId other = GraphEdit(graph).AddInput(
      "other", Type::Tensor(DType::kFloat32, SymbolicDims{Dim::Symbol("n"), Dim(1)}));
  const ValueId shape = GraphEdit(graph).AddConstant("shape", Tensor::Of<int64_t>({1}, {-1}));
  const ValueId sum = GraphEdit(graph).AddValue("sum", {}), y = GraphEdit(graph).AddValue("y", {}),
                z = GraphEdit(graph).AddValue("z", {});
  Add(graph, "Add", {x, x}, sum);
  Add(graph, "Reshape", {sum, shape}, y);
  Add(graph, "Mul", {x, other}, z);
  GraphEdit(graph).AddOutput(y);
  GraphEdit(graph).AddOutput(z);
  EXPECT_TRUE(InferGraph(graph).ok());
  return model;
}

std::unique_ptr<Session> Create(Model model, const SessionOptions& options = {}) {
  auto session = Session::Create(std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

std::string ErrorOf(Session& session, const Session::Inputs& inputs) {
  return std::string(session.Run(inputs).status().message());
}

// ONNX Runtime 1.31's scores for examples/mnist/digits/3.png.
TEST(Session, MnistGivesOnnxRuntimesScores) {
  const Tensor expected =
      Tensor::Of<float>({1, 10}, {78.822823f, -2470.1323f, -791.26984f, 2573.4165f, -1417.7583f,
                                  1042.9252f, -325.0398f, -2500.0361f, 1686.7456f, -195.61356f});
  for (int threads : {1, 2, 3}) {
    SessionOptions options;
    options.num_threads = threads;
    const auto outputs = LoadMnist(options)->Run({{"Input3", Digit(3)}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(testing::Difference(outputs->begin()->second.tensor(), expected, 1e-4, 1e-2), "");
  }
}

TEST(Session, ResultsDoNotDependOnTheNumberOfThreads) {
  std::vector<Tensor> results;
  for (int threads : {1, 2, 4}) {
    SessionOptions options;
    options.num_threads = threads;
    const auto outputs = LoadMnist(options)->Run({{"Input3", Digit(8)}});
    ASSERT_TRUE(outputs.ok());
    results.push_back(outputs->begin()->second.tensor());
  }
  EXPECT_TRUE(SameBits(results[0], results[1]));
  EXPECT_TRUE(SameBits(results[0], results[2]));
}

TEST(Session, RunsFromManyThreadsAtOnce) {
  const auto session = LoadMnist();
  std::vector<Tensor> alone;
  for (int digit = 0; digit < 4; ++digit)
    alone.push_back(session->Run({{"Input3", Digit(digit)}})->begin()->second.tensor());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int digit = 0; digit < 4; ++digit) {
    threads.emplace_back([&, digit] {
      const Tensor input = Digit(digit);
      for (int i = 0; i < 50; ++i) {
        const auto outputs = session->Run({{"Input3", input}});
        wrong += !outputs.ok() ||
                 !SameBits(outputs->begin()->second.tensor(), alone[static_cast<size_t>(digit)]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Session, SymbolicDimsAreBoundPerRun) {
  SessionOptions options;
  options.max_bindings = 4;
  const auto session = Create(SmallModel(), options);
  EXPECT_EQ(session->inputs()[0].type.ToString(), "float32[n,3]");
  for (int64_t n : {1, 2, 0, 7, 100, 2, 50, 3, 1}) {
    Tensor x(DType::kFloat32, {n, 3}), other(DType::kFloat32, {n, 1});
    for (int64_t i = 0; i < 3 * n; ++i) x.mutable_data<float>()[i] = static_cast<float>(i);
    for (int64_t i = 0; i < n; ++i) other.mutable_data<float>()[i] = static_cast<float>(10 * i);
    const auto outputs = session->Run({{"x", x}, {"other", other}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const Tensor& y = outputs->at("y").tensor();
    const Tensor& z = outputs->at("z").tensor();
    ASSERT_EQ(y.dims(), DimsView({3 * n}));
    ASSERT_EQ(z.dims(), DimsView({n, 3}));
    for (int64_t i = 0; i < 3 * n; ++i) {
      EXPECT_EQ(y.data<float>()[i], static_cast<float>(2 * i));
      EXPECT_EQ(z.data<float>()[i], static_cast<float>(i * 10 * (i / 3)));
    }
  }
}

TEST(Session, OutputsAreWrittenInPlaceWhenTheyFit) {
  const auto session = Create(SmallModel());
  const std::vector<Value> inputs = {Tensor::Of<float>({1, 3}, {1, 2, 3}),
                                     Tensor::Of<float>({1, 1}, {2})};
  std::vector<Value> outputs = {Tensor(DType::kFloat32, {3}), Tensor(DType::kInt32, {1})};
  const void* memory = outputs[0].tensor().raw_data();
  ASSERT_TRUE(session->Run(inputs, absl::MakeSpan(outputs)).ok());
  EXPECT_EQ(outputs[0].tensor().raw_data(), memory);
  EXPECT_EQ(outputs[0].tensor().data<float>()[2], 6);
  EXPECT_EQ(outputs[1].tensor().dtype(), DType::kFloat32);
}

TEST(Session, OutputsThatDataSizesAreWrittenInPlaceWhenTheyFit) {
  absl::StatusOr<Model> model = testing::ModelFromText(
      "g (float[n] x, bool flag) => (int64[1, m] places, float[k] chosen) {"
      "  places = NonZero (x)"
      "  chosen = If (flag) <then_branch = yes () => (float[k] a) { a = Neg (x) },"
      "                      else_branch = no () => (float[k] b) { b = Exp (x) }>"
      "}");
  ASSERT_TRUE(model.ok()) << model.status();
  std::map<std::string, const void*> written;
  SessionOptions options;
  options.watch = [&](std::string_view name, const TensorView& value) {
    written[std::string(name)] = value.data;
    return absl::OkStatus();
  };
  const auto session = Create(*std::move(model), options);
  const Tensor x = Tensor::Of<float>({4}, {0, -2, 3, 0}), flag = Tensor::Of<bool>({}, {true});
  std::vector<Value> outputs(2);
  for (int run = 0; run < 2; ++run) {
    const std::vector<Value> inputs = {x, flag};
    const void* before = run == 0 ? nullptr : outputs[0].tensor().raw_data();
    ASSERT_TRUE(session->Run(inputs, absl::MakeSpan(outputs)).ok());
    const Tensor &places = outputs[0].tensor(), &chosen = outputs[1].tensor();
    ASSERT_EQ(places.dims(), DimsView({1, 2}));
    EXPECT_EQ(places.data<int64_t>()[0], 1);
    EXPECT_EQ(places.data<int64_t>()[1], 2);
    EXPECT_EQ(chosen.data<float>()[1], 2);
    EXPECT_EQ(written["places"], places.raw_data());
    EXPECT_EQ(written["chosen"], chosen.raw_data());
    if (run > 0) {
      EXPECT_EQ(places.raw_data(), before);
    }
  }
  // The caller keeps what he was given: the next run takes other memory.
  const Tensor kept = outputs[0].tensor();
  const std::vector<Value> inputs = {Tensor::Of<float>({4}, {5, 0, 0, 5}), flag};
  ASSERT_TRUE(session->Run(inputs, absl::MakeSpan(outputs)).ok());
  EXPECT_EQ(kept.data<int64_t>()[0], 1);
  EXPECT_EQ(outputs[0].tensor().data<int64_t>()[0], 0);
}

TEST(Session, WrongInputsAreNamed) {
  const auto session = Create(SmallModel());
  const Tensor x = Tensor::Of<float>({1, 3}, {1, 2, 3}), other = Tensor::Of<float>({1, 1}, {2});
  EXPECT_EQ(ErrorOf(*session, {{"x", x}}), "missing input 'other' (float32[n,1])");
  EXPECT_EQ(ErrorOf(*session, {{"x", x}, {"othr", other}}),
            "the model has no input 'othr'; did you mean 'other'? (inputs: x, other)");
  EXPECT_EQ(ErrorOf(*session, {{"x", Tensor(DType::kInt64, {1, 3})}, {"other", other}}),
            "input 'x': wrong dtype (expected float32[n,3], got int64[1,3])");
  EXPECT_EQ(ErrorOf(*session, {{"x", Tensor(DType::kFloat32, {1, 4})}, {"other", other}}),
            "input 'x': dimension 1 is 4 (expected float32[n,3], got float32[1,4])");
  EXPECT_EQ(ErrorOf(*session, {{"x", Tensor(DType::kFloat32, {3})}, {"other", other}}),
            "input 'x': wrong rank 1 (expected float32[n,3], got float32[3])");
}

TEST(Session, UnknownProviderAndMissingFileAreErrors) {
  SessionOptions options;
  options.provider = "tpu";
  EXPECT_EQ(Session::Create(SmallModel(), options).status().message(),
            "unknown provider 'tpu'; known: cpu, cuda, and cuda:1, a device by its number");
  const absl::Status missing = Session::Load("/nonexistent/model.onnx").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("/nonexistent/model.onnx"), std::string::npos);
}

TEST(Session, EveryUnsupportedNodeIsListed) {
  Model model = SmallModel();
  Graph& graph = model.graph;
  for (const char* name : {"first", "second"}) {
    Node node;
    node.domain = "com.example";
    node.op_type = "Frobnicate";
    node.name = name;
    node.inputs = {graph.inputs()[0]};
    node.outputs = {GraphEdit(graph).AddValue(name, Type::Tensor(DType::kFloat32))};
    GraphEdit(graph).AddOutput(node.outputs[0]);
    GraphEdit(graph).AddNode(std::move(node));
  }
  const absl::Status status = Session::Create(std::move(model)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("[com.example.Frobnicate 'first']"), std::string::npos) << status;
  EXPECT_NE(status.message().find("[com.example.Frobnicate 'second']"), std::string::npos)
      << status;
}

TEST(Session, ProfileIsAChromeTrace) {
  SessionOptions options;
  options.profile = true;
  const auto session = LoadMnist(options);
  ASSERT_TRUE(session->Run({{"Input3", Digit(1)}}).ok());
  const std::string path = ::testing::TempDir() + "/trace.json";
  ASSERT_TRUE(session->WriteProfile(path).ok());
  std::ifstream file(path);
  const nlohmann::json trace = nlohmann::json::parse(file);
  ASSERT_GE(trace["traceEvents"].size(), 5u);
  std::vector<std::string> inputs;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "C") continue;
    EXPECT_EQ(event["ph"], "X");
    EXPECT_GE(event["dur"].get<double>(), 0);
    EXPECT_FALSE(event["args"]["kernel"].get<std::string>().empty());
    inputs.push_back(event["args"]["inputs"]);
  }
  EXPECT_THAT(inputs, ::testing::Contains(::testing::StartsWith("float32[1,1,28,28] float32[8,")));
  EXPECT_FALSE(LoadMnist()->WriteProfile(path).ok());
}

// While a step runs, what it makes and what it or later ones read is in use: 400 bytes a matrix.
TEST(Session, ProfileCountsTheMemoryInUse) {
  GraphBuilder b("chain");
  const Expr x = b.Input("x", DType::kFloat32, {10, 10});
  const Expr first = expr::Transpose(x, {1, 0});
  const Expr second = expr::Transpose(first, {1, 0});
  const Expr third = expr::Concat({second, first}, 0);
  b.Output("y", expr::ReduceSum(third, {}, false));
  auto model = b.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  SessionOptions options;
  options.optimize = false;
  options.reference_kernels = true;
  options.profile = true;
  options.profile_skip = 1;
  options.profile_runs = 2;
  auto session = Session::Create(*std::move(model), options);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_FALSE((*session)->RecordedPeak().has_value());
  Tensor value(DType::kFloat32, {10, 10});
  std::memset(value.raw_mutable_data(), 0, 400);
  ASSERT_TRUE((*session)->Run({{"x", value}}).ok());
  EXPECT_FALSE((*session)->RecordedPeak().has_value()) << "the first run warms up";
  for (int run = 0; run < 3; ++run) ASSERT_TRUE((*session)->Run({{"x", value}}).ok());
  const std::string path = ::testing::TempDir() + "/memory.json";
  ASSERT_TRUE((*session)->WriteProfile(path).ok());
  std::ifstream file(path);
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::vector<int64_t> live;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "C" && event["name"] == "memory")
      live.push_back(event["args"]["live_bytes"]);
  ASSERT_EQ(live.size(), 8u);
  EXPECT_THAT(std::vector<int64_t>(live.begin(), live.begin() + 3),
              ::testing::ElementsAre(400, 800, 1600));
  EXPECT_EQ(std::vector<int64_t>(live.begin(), live.begin() + 4),
            std::vector<int64_t>(live.begin() + 4, live.end()));
  EXPECT_EQ((*session)->RecordedPeak()->bytes, 1600);
  EXPECT_EQ(trace["otherData"]["peak_live_bytes"], 1600);
}

}  // namespace
}  // namespace onward::executors
