// Models of the zoo with the gradients of all their weights: ONNX Runtime computes the same. Needs
// the zoo (ONWARD_ZOO) and ONNX Runtime.
#include <gtest/gtest.h>

#include <cmath>

#include "onnx_io/tensor_proto.h"
#include "onward/import.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/onnxruntime.h"
#include "tests/support/test_data.h"
#include "tests/training/gradient/gradient_checks.h"

namespace onward::training {
namespace {

double LargestOf(const Tensor& tensor) {
  double largest = 0;
  for (const float value : tensor.span<float>())
    largest = std::max(largest, double{std::fabs(value)});
  return largest;
}

class ZooGradientTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ZooGradientTest, EqualsOnnxRuntime) {
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers installs ONNX Runtime";
  const std::string folder = absl::StrCat(zoo, "/", GetParam(), "/");
  GradientModelOptions options;
  ImportOptions import;
  std::vector<std::string> initializers;
  import.initializers = &initializers;
  auto model = ImportFile(folder + "model.onnx", import);
  ASSERT_TRUE(model.ok()) << model.status();
  Graph& graph = model->graph;
  Session::Inputs inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto tensor =
        onnx_io::ReadTensorFile(absl::StrCat(folder, "test_data_set_0/input_", i, ".pb"));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    inputs[graph.value(graph.inputs()[i]).name] = Value(*tensor);
  }
  const auto y = onnx_io::ReadTensorFile(folder + "test_data_set_0/output_0.pb");
  ASSERT_TRUE(y.ok()) << y.status();
  options.of = {graph.value(graph.outputs()[0]).name};
  inputs["grad/" + options.of[0]] = Floats(y->dims(), 17);
  for (const std::string& name : initializers) {
    if (graph.type(graph.FindValue(name)).dtype == DType::kFloat32) options.wrt.push_back(name);
  }
  const auto names = MakeGradientModel(*model, options);
  ASSERT_TRUE(names.ok()) << names.status();
  // 100 of the model; every size is known.
  const size_t most = GetParam() == "mobilenet_v2" ? 415 : 10000;
  EXPECT_LE(graph.node_ids().size(), most);
  const auto theirs = testing::RunInOnnxRuntime(*model, inputs);
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  const Session::Outputs ours = RunModel(*model, inputs);
  ASSERT_EQ(ours.size(), theirs->size());
  for (const std::string& name : names->outputs) {
    const Tensor& expected = theirs->at(name).tensor();
    EXPECT_EQ(
        testing::Difference(ours.at(name).tensor(), expected, 1e-3, 1e-3 * LargestOf(expected)), "")
        << name;
  }
}

// Those whose gradients are well conditioned in float; with Relu, one rounding turns a unit on.
INSTANTIATE_TEST_SUITE_P(Zoo, ZooGradientTest,
                         ::testing::Values("mlp_tiny", "bigru_256", "lstm_2x512_t100",
                                           "mobilenet_v2", "efficientnet_b0", "llama_tiny_decode",
                                           "whisper_tiny_encoder"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace onward::training
