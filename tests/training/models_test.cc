// Whole networks as PyTorch's exporters write them (models/make_models.py): their gradients equal
// those of PyTorch's autograd in double precision, and ONNX Runtime computes ours in float.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/ir/verify.h"
#include "onnx_io/import.h"
#include "onnx_io/npy.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/onnxruntime.h"
#include "tests/training/gradient/finite_differences.h"
#include "training/gradient/gradient_model.h"

namespace onward {
namespace {

const std::string kFolder = absl::StrCat(ONWARD_SOURCE_DIR, "/tests/training/models/");

struct Network {
  Model model;  // with gradients of its loss by all that the golden file has
  Session::Inputs inputs;
  std::map<std::string, Tensor> expected;  // by output: the loss, y, gradients
};

Tensor ToFloat(const Tensor& tensor) {
  Tensor narrow(DType::kFloat32, tensor.dims());
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    narrow.mutable_data<float>()[i] = static_cast<float>(tensor.data<double>()[i]);
  return narrow;
}

bool TakePrefix(const std::string& name, const std::string& prefix, std::string& rest) {
  if (name.rfind(prefix, 0) != 0) return false;
  rest = name.substr(prefix.size());
  return true;
}

absl::StatusOr<Network> Load(const std::string& name, DType dtype) {
  Network network;
  const bool single = dtype == DType::kFloat32;
  auto model = ImportFile(absl::StrCat(kFolder, name, single ? "_float.onnx" : ".onnx"));
  if (!model.ok()) return model.status();
  network.model = *std::move(model);
  const auto arrays = ReadNpz(absl::StrCat(kFolder, name, ".npz"));
  if (!arrays.ok()) return arrays.status();
  GradientModelOptions options;
  options.of = {"loss"};
  for (const auto& [key, array] : *arrays) {
    const Tensor tensor = single && array.dtype() == DType::kFloat64 ? ToFloat(array) : array;
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
    double largest = 0;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      largest = std::max(
          largest, std::fabs(tensor.dtype() == DType::kFloat64 ? tensor.data<double>()[i]
                                                               : double{tensor.data<float>()[i]}));
    }
    EXPECT_EQ(testing::Difference(actual.at(name).tensor(), tensor, rtol, rtol * largest + 1e-15),
              "")
        << name;
  }
}

class TrainedModelsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainedModelsTest, GradientsEqualPyTorch) {
  const auto network = Load(GetParam(), DType::kFloat64);
  ASSERT_TRUE(network.ok()) << network.status();
  for (const bool optimize : {true, false}) {
    SessionOptions options;
    options.optimize = optimize;
    auto session = Session::Create(network->model, options);
    ASSERT_TRUE(session.ok()) << session.status();
    const auto outputs = (*session)->Run(network->inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ExpectNear(*outputs, network->expected, 1e-9);
  }
}

TEST_P(TrainedModelsTest, GradientsInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers installs ONNX Runtime";
  const auto network = Load(GetParam(), DType::kFloat32);
  ASSERT_TRUE(network.ok()) << network.status();
  const auto outputs = testing::RunInOnnxRuntime(network->model, network->inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ExpectNear(*outputs, network->expected, 1e-3);
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
    std::optional<Tensor>& constant =
        model.graph.mutable_value(model.graph.FindValue(name)).constant;
    constant = moved(*constant);
  }
  const Session::Outputs outputs = RunModel(model, inputs);
  const Tensor& gradient = outputs.at("grad/" + name).tensor();
  double sum = 0;
  for (int64_t i = 0; i < gradient.num_elements(); ++i)
    sum += gradient.data<double>()[i] * weights.data<double>()[i];
  return sum;
}

// The gradient of <gradient, weights> against finite differences.
TEST_P(TrainedModelsTest, GradientsOfGradients) {
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

INSTANTIATE_TEST_SUITE_P(Networks, TrainedModelsTest,
                         ::testing::Values("mlp", "cnn", "encoder", "gpt", "lstm", "unet",
                                           "functions", "branches"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace onward
