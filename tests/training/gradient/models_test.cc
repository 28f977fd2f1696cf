// Whole models as PyTorch exports them: the gradients of all their parameters are PyTorch's, in
// double precision (make_models.py), and ONNX Runtime computes them too.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "executors/session.h"
#include "graph/builder/functions.h"
#include "onnx_io/import.h"
#include "onnx_io/npy.h"
#include "tests/support/gradient_case.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/onnxruntime.h"
#include "training/gradient/gradient.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(ONWARD_SOURCE_DIR) / "tests/training/gradient/models";
constexpr double kRtol = 1e-7;  // some exported constants are float
constexpr double kRtolOfFloat = 1e-4;

std::vector<std::string> Models() {
  std::vector<std::string> models;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".onnx") models.push_back(entry.path().stem().string());
  }
  std::sort(models.begin(), models.end());
  return models;
}

using Arrays = std::map<std::string, Tensor>;

// The graph in float instead of double: ONNX Runtime has few kernels for double.
absl::Status MakeFloat(Graph& graph) {
  constexpr int64_t kDouble = static_cast<int64_t>(DType::kFloat64);
  for (const NodeId id : graph.node_ids()) {
    Attributes& attributes = graph.mutable_node(id).attributes;
    if (attributes.Int("to", 0) == kDouble)
      attributes.Set("to", static_cast<int64_t>(DType::kFloat32));
  }
  for (int i = 0; i < graph.num_values(); ++i) {
    ValueData& value = graph.mutable_value({i});
    if (value.producer.valid()) value.type = {};
    if (value.type.dtype != DType::kFloat64) continue;
    value.type.dtype = DType::kFloat32;
    if (value.constant) value.constant = testing::ToFloat(*value.constant, DType::kFloat32);
  }
  return InferGraph(graph);
}

// The model with an output "g/<parameter>" for each array of that name.
absl::StatusOr<Model> Differentiated(const std::string& name, const Arrays& arrays, DType dtype) {
  auto model = ImportFile((kFolder / (name + ".onnx")).string());
  if (!model.ok()) return model;
  Graph& graph = model->graph;
  if (dtype == DType::kFloat32) {
    if (const absl::Status made = MakeFloat(graph); !made.ok()) return made;
  }
  std::vector<std::string> names;
  std::vector<ValueId> parameters;
  for (const auto& [key, array] : arrays) {
    if (!absl::StartsWith(key, "g/")) continue;
    names.push_back(key);
    parameters.push_back(graph.FindValue(key.substr(2)));
    if (!parameters.back().valid()) return absl::NotFoundError(key);
  }
  const auto gradients = AddGradients(graph, graph.FindValue("loss"), parameters);
  if (!gradients.ok()) return gradients.status();
  GraphSink sink(graph, "named/");
  for (size_t i = 0; i < names.size(); ++i) {
    const Expr named = expr::Identity(sink.Value((*gradients)[i]));
    graph.Rename(named.id(), names[i]);
    graph.AddOutput(named.id());
  }
  if (!sink.status().ok()) return sink.status();
  return model;
}

class GradientModels : public ::testing::TestWithParam<std::string> {
 protected:
  void Make(DType dtype) {
    const auto arrays = ReadNpz((kFolder / (GetParam() + ".npz")).string());
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    arrays_ = *arrays;
    auto model = Differentiated(GetParam(), arrays_, dtype);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    for (const ValueId id : model_.graph.inputs()) {
      const std::string& name = model_.graph.value(id).name;
      const Tensor& array = arrays_.at(name);
      inputs_[name] = Value(IsFloating(array.dtype()) ? testing::ToFloat(array, dtype) : array);
    }
  }
  void ExpectExpected(const absl::StatusOr<Session::Outputs>& outputs, double rtol) {
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (const auto& [name, value] : *outputs) {
      const Tensor& expected = arrays_.at(name);
      double largest = 1e-2;
      for (const double element : expected.span<double>())
        largest = std::max(largest, std::fabs(element));
      EXPECT_EQ(testing::Difference(testing::ToFloat(value.tensor(), DType::kFloat64), expected,
                                    rtol, rtol * largest),
                "")
          << name;
    }
  }

  Arrays arrays_;
  Model model_;
  Session::Inputs inputs_;
};

TEST_P(GradientModels, EqualPyTorch) {
  Make(DType::kFloat64);
  auto session = Session::Create(model_);
  ASSERT_TRUE(session.ok()) << session.status();
  ExpectExpected((*session)->Run(inputs_), kRtol);
}

TEST_P(GradientModels, RunInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "scripts/peers installs ONNX Runtime";
  Make(DType::kFloat32);
  ExpectExpected(testing::RunInOnnxRuntime(model_, inputs_), kRtolOfFloat);
}

INSTANTIATE_TEST_SUITE_P(Models, GradientModels, ::testing::ValuesIn(Models()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace onward
