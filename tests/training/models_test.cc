// Whole networks as PyTorch's exporters write them (models/make_models.py): their gradients equal
// those of PyTorch's autograd in double precision, and ONNX Runtime computes ours in float.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "files/npy.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ir/verify.h"
#include "onward/import.h"
#include "tests/support/gradient_case.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/onnxruntime.h"
#include "tests/training/gradient/finite_differences.h"
#include "training/gradient/gradient_model.h"

namespace onward::training {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = absl::StrCat(ONWARD_SOURCE_DIR, "/tests/training/models/");

struct Network {
  Model model;  // with gradients of its loss by all that the golden file has
  Session::Inputs inputs;
  std::map<std::string, Tensor> expected;  // by output: the loss, y, gradients
};

bool TakePrefix(const std::string& name, const std::string& prefix, std::string& rest) {
  if (name.rfind(prefix, 0) != 0) return false;
  rest = name.substr(prefix.size());
  return true;
}

// The graph in float instead of double: ONNX Runtime has few kernels for double.
absl::Status MakeFloat(Graph& graph) {
  constexpr int64_t kDouble = static_cast<int64_t>(DType::kFloat64);
  for (const NodeId id : graph.node_ids()) {
    Attributes& attributes = GraphEdit(graph).node(id).attributes;
    if (attributes.Int("to", 0) == kDouble)
      attributes.Set("to", static_cast<int64_t>(DType::kFloat32));
  }
  for (int i = 0; i < graph.num_values(); ++i) {
    GraphEdit edit(graph);
    if (graph.value({i}).producer.valid()) edit.type({i}) = {};
    if (graph.type({i}).dtype != DType::kFloat64) continue;
    edit.type({i}).dtype = DType::kFloat32;
    if (edit.constant({i}))
      edit.constant({i}) = testing::ToFloat(*edit.constant({i}), DType::kFloat32);
  }
  return InferGraph(graph);
}

// In float the file that PyTorch wrote in float where there is one.
absl::StatusOr<Model> Import(const std::string& name, DType dtype) {
  const std::string narrow = absl::StrCat(kFolder, name, "_float.onnx");
  const bool written = dtype == DType::kFloat32 && fs::exists(narrow);
  auto model = ImportFile(written ? narrow : absl::StrCat(kFolder, name, ".onnx"));
  if (!model.ok() || written || dtype == DType::kFloat64) return model;
  if (const absl::Status made = MakeFloat(model->graph); !made.ok()) return made;
  return model;
}

absl::StatusOr<Network> Load(const std::string& name, DType dtype) {
  Network network;
  auto model = Import(name, dtype);
  if (!model.ok()) return model.status();
  network.model = *std::move(model);
  const auto arrays = files::ReadNpz(absl::StrCat(kFolder, name, ".npz"));
  if (!arrays.ok()) return arrays.status();
  GradientModelOptions options;
  options.of = {"loss"};
  for (const auto& [key, array] : *arrays) {
    const Tensor tensor = IsFloating(array.dtype()) ? testing::ToFloat(array, dtype) : array;
    std::string rest;
    if (TakePrefix(key, "in/", rest)) {
      network.inputs[rest] = Value(tensor);
      continue;
    }
    if (TakePrefix(key, "grad/", rest)) options.wrt.push_back(rest);
    network.expected[TakePrefix(key, "out/", rest) ? rest : key] = tensor;
  }
  if (const auto names = MakeGradientModel(network.model, options); !names.ok())
    return names.status();
  if (absl::Status verified = Verify(network.model.graph); !verified.ok()) return verified;
  return network;
}

// Within `rtol` of the largest element.
void ExpectNear(const Session::Outputs& actual, const std::map<std::string, Tensor>& expected,
                double rtol) {
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(actual.count(name)) << name;
    double largest = 1e-2;
    const Tensor wide = testing::ToFloat(tensor, DType::kFloat64);
    for (const double element : wide.span<double>())
      largest = std::max(largest, std::fabs(element));
    EXPECT_EQ(testing::Difference(actual.at(name).tensor(), tensor, rtol, rtol * largest), "")
        << name;
  }
}

std::vector<std::string> Networks() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() == ".onnx" && !name.ends_with("_float")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// What a network's gradient is differentiated by once more.
const std::map<std::string, std::string> kSecond = {{"mlp", "x"},
                                                    {"cnn", "x"},
                                                    {"encoder", "qkv.weight"},
                                                    {"gpt", "embed.weight"},
                                                    {"lstm", "lstm.weight_hh_l0"},
                                                    {"unet", "x"},
                                                    {"functions", "weight0"},
                                                    {"branches", "x"}};

class TrainedModelsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainedModelsTest, GradientsEqualPyTorch) {
  const auto network = Load(GetParam(), DType::kFloat64);
  ASSERT_TRUE(network.ok()) << network.status();
  // Some constants that the exporter wrote in the others are float.
  const double rtol = kSecond.contains(GetParam()) ? 1e-9 : 1e-7;
  for (const bool optimize : {true, false}) {
    SessionOptions options;
    options.optimize = optimize;
    auto session = Session::Create(network->model, options);
    ASSERT_TRUE(session.ok()) << session.status();
    const auto outputs = (*session)->Run(network->inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ExpectNear(*outputs, network->expected, rtol);
  }
}

TEST_P(TrainedModelsTest, GradientsInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers installs ONNX Runtime";
  const auto network = Load(GetParam(), DType::kFloat32);
  ASSERT_TRUE(network.ok()) << network.status();
  const auto outputs = testing::RunInOnnxRuntime(network->model, network->inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ExpectNear(*outputs, network->expected, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Networks, TrainedModelsTest, ::testing::ValuesIn(Networks()),
                         [](const auto& info) { return info.param; });

// <grad/name, weights> with element `e` of `name`, an input or a constant, moved by `delta`.
double MovedProduct(const Network& network, const std::string& name, const Tensor& weights,
                    int64_t e, double delta) {
  Model model = network.model;
  Session::Inputs inputs = network.inputs;
  const auto moved = [&](const Tensor& from) {
    Tensor tensor = from.Clone();
    tensor.mutable_data<double>()[e] += delta;
    return tensor;
  };
  if (inputs.count(name)) {
    inputs[name] = Value(moved(inputs.at(name).tensor()));
  } else {
    std::optional<Tensor>& constant = GraphEdit(model.graph).constant(model.graph.FindValue(name));
    constant = moved(*constant);
  }
  const Session::Outputs outputs = RunModel(model, inputs);
  const Tensor& gradient = outputs.at("grad/" + name).tensor();
  double sum = 0;
  for (int64_t i = 0; i < gradient.num_elements(); ++i)
    sum += gradient.data<double>()[i] * weights.data<double>()[i];
  return sum;
}

class SecondOrderTest : public ::testing::TestWithParam<std::string> {};

// The gradient of <gradient, weights> against finite differences.
TEST_P(SecondOrderTest, GradientsOfGradients) {
  const auto network = Load(GetParam(), DType::kFloat64);
  ASSERT_TRUE(network.ok()) << network.status();
  const std::string name = kSecond.at(GetParam());
  Model second = network->model;
  const auto names = MakeGradientModel(second, {{"grad/" + name}, {name}});
  ASSERT_TRUE(names.ok()) << names.status();
  const Tensor& gradient = network->expected.at("grad/" + name);
  const Tensor weights = RandomDoubles(gradient.dims(), 3);
  Session::Inputs inputs = network->inputs;
  inputs["grad/grad/" + name] = Value(weights);
  const Session::Outputs outputs = RunModel(second, inputs);
  ASSERT_FALSE(outputs.empty());
  const Tensor& found = outputs.at(names->outputs[0]).tensor();
  ASSERT_EQ(found.dims(), gradient.dims());
  constexpr double kStep = 1e-5;
  const int64_t stride = std::max<int64_t>(1, found.num_elements() / 12);
  for (int64_t e = 0; e < found.num_elements(); e += stride) {
    const double expected = (MovedProduct(*network, name, weights, e, kStep) -
                             MovedProduct(*network, name, weights, e, -kStep)) /
                            (2 * kStep);
    EXPECT_NEAR(found.data<double>()[e], expected, 1e-6 * (1 + std::fabs(expected)))
        << "element " << e;
  }
}

std::vector<std::string> Differentiable() {
  std::vector<std::string> names;
  for (const auto& [name, by] : kSecond) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Networks, SecondOrderTest, ::testing::ValuesIn(Differentiable()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace onward::training
