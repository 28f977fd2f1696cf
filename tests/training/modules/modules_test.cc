// Each module with PyTorch's weights gives PyTorch's outputs and gradients (make_cases.py), and
// ONNX Runtime runs what it is.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "onward/nn/dropout.h"
#include "onward/session.h"
#include "tests/support/gradient_case.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/module_cases.h"
#include "tests/support/onnxruntime.h"
#include "training/gradient/gradient_model.h"
#include "training/prepare/mode.h"
#include "training/prepare/state_dict.h"

namespace onward::training {
namespace {

using Arrays = std::map<std::string, Tensor>;

// Attributes are floats: epsilons, slopes.
constexpr double kRtol = 2e-6, kAtol = 2e-7;

// Of one case, by the name in it ("x0", "p/weight").
Arrays ArraysOf(const std::string& name) {
  static const auto* const all = new absl::StatusOr<Arrays>(
      files::ReadNpz(absl::StrCat(ONWARD_SOURCE_DIR, "/tests/training/modules/cases.npz")));
  EXPECT_TRUE(all->ok()) << all->status();
  Arrays arrays;
  for (const auto& [key, value] : **all) {
    if (absl::StartsWith(key, name + "/")) arrays[key.substr(name.size() + 1)] = value;
  }
  return arrays;
}

// Those whose names begin with `prefix`, without it.
Arrays WithPrefix(const Arrays& arrays, const std::string& prefix) {
  Arrays found;
  for (const auto& [key, value] : arrays) {
    if (absl::StartsWith(key, prefix)) found[key.substr(prefix.size())] = value;
  }
  return found;
}

Tensor As(const Tensor& tensor, DType dtype) {
  return tensor.dtype() == DType::kFloat64 ? testing::ToFloat(tensor, dtype) : tensor;
}

enum class Axis { kKnown, kOpen };

// The module of inputs "x0", ... with outputs "y0", ..., and PyTorch's weights.
absl::StatusOr<Model> Build(const std::string& name, const Arrays& arrays, DType dtype,
                            Axis first) {
  GraphBuilder builder(name);
  nn::Module root(builder, {dtype});
  std::vector<Expr> inputs;
  for (size_t i = 0; arrays.contains(absl::StrCat("x", i)); ++i) {
    const Tensor& x = arrays.at(absl::StrCat("x", i));
    SymbolicDims dims(x.dims().begin(), x.dims().end());
    if (first == Axis::kOpen) dims[0] = Dim::Symbol(absl::StrCat("size", dims[0].value()));
    const DType own = x.dtype() == DType::kFloat64 ? dtype : x.dtype();
    inputs.push_back(builder.Input(absl::StrCat("x", i), Type::Tensor(own, dims)));
  }
  const std::vector<Expr> outputs = testing::ModuleCases().at(name)(root, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) builder.Output(absl::StrCat("y", i), outputs[i]);
  auto model = builder.Build();
  if (!model.ok()) return model;
  const auto loaded = LoadStateDict(*model, WithPrefix(arrays, "p/"));
  if (!loaded.ok()) return loaded.status();
  return model;
}

Session::Inputs InputsOf(const Arrays& arrays, DType dtype) {
  Session::Inputs inputs;
  for (const auto& [key, value] : arrays) {
    if (absl::StartsWith(key, "x")) inputs[key] = As(value, dtype);
    if (absl::StartsWith(key, "d_y")) inputs["grad/" + key.substr(2)] = As(value, dtype);
  }
  return inputs;
}

class ModulesTest : public ::testing::TestWithParam<std::string> {
 protected:
  void Check(Axis first) {
    const Arrays arrays = ArraysOf(GetParam());
    ASSERT_FALSE(arrays.empty());
    auto model = Build(GetParam(), arrays, DType::kFloat64, first);
    ASSERT_TRUE(model.ok()) << model.status();
    if (arrays.contains("trains")) {
      ASSERT_TRUE(SetTrainingMode(*model).ok());
    }
    GradientModelOptions options;
    Arrays expected = WithPrefix(arrays, "y");
    for (const auto& [index, value] : expected) options.of.push_back("y" + index);
    Arrays wanted;
    for (const auto& [name, value] : expected) wanted["y" + name] = value;
    for (const auto& [name, value] : WithPrefix(arrays, "g/")) wanted["grad/" + name] = value;
    for (const auto& [name, value] : WithPrefix(arrays, "g_")) wanted["grad/" + name] = value;
    for (const auto& [name, value] : WithPrefix(arrays, "next/")) wanted["next/" + name] = value;
    for (const auto& [name, value] : wanted) {
      if (absl::StartsWith(name, "grad/")) options.wrt.push_back(name.substr(5));
    }
    const auto names = MakeGradientModel(*model, options);
    ASSERT_TRUE(names.ok()) << names.status();
    auto session = Session::Create(*std::move(model));
    ASSERT_TRUE(session.ok()) << session.status();
    const auto outputs = (*session)->Run(InputsOf(arrays, DType::kFloat64));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (const auto& [name, value] : wanted) {
      ASSERT_TRUE(outputs->contains(name)) << name;
      EXPECT_EQ(testing::Difference(outputs->at(name).tensor(), value, kRtol, kAtol), "") << name;
    }
  }
};

TEST_P(ModulesTest, OutputsAndGradientsArePyTorchs) { Check(Axis::kKnown); }

TEST_P(ModulesTest, AlsoWithAnOpenBatch) { Check(Axis::kOpen); }

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : testing::ModuleCases()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Modules, ModulesTest, ::testing::ValuesIn(Names()),
                         [](const auto& param) { return param.param; });

TEST(Modules, Dropout2dDropsWholeChannels) {
  GraphBuilder builder("dropout");
  const Expr x = builder.Input("x", DType::kFloat32, {20, 30, 2, 3});
  builder.Output("y", nn::Dropout2d{0.25}(x));
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto change = SetTrainingMode(*model);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->dropouts, 1);
  auto session = Session::Create(*std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  Tensor ones(DType::kFloat32, Dims{20, 30, 2, 3});
  std::fill_n(ones.mutable_data<float>(), ones.num_elements(), 1.0f);
  const auto outputs = (*session)->Run({{"x", ones}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const float* y = outputs->at("y").tensor().data<float>();
  int kept = 0;
  for (int channel = 0; channel < 600; ++channel) {
    const float first = y[channel * 6];
    EXPECT_TRUE(first == 0 || std::fabs(first - 4 / 3.0f) < 1e-6f) << first;
    for (int i = 1; i < 6; ++i) EXPECT_EQ(y[channel * 6 + i], first);
    kept += first != 0;
  }
  EXPECT_NEAR(kept, 450, 60);
}

// onnx.checker takes every module, and ONNX Runtime gives PyTorch's outputs in float.
TEST(Modules, RunInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "ONNX Runtime is not installed (scripts/peers)";
  std::vector<testing::OnnxRuntimeCall> calls;
  std::vector<std::string> names;
  for (const std::string& name : Names()) {
    const Arrays arrays = ArraysOf(name);
    if (arrays.contains("trains")) continue;
    auto model = Build(name, arrays, DType::kFloat32, Axis::kOpen);
    ASSERT_TRUE(model.ok()) << name << ": " << model.status();
    Session::Inputs inputs;
    for (const auto& [key, value] : InputsOf(arrays, DType::kFloat32)) {
      if (absl::StartsWith(key, "x")) inputs[key] = value;
    }
    calls.push_back({*std::move(model), std::move(inputs)});
    names.push_back(name);
  }
  const auto results = testing::RunInOnnxRuntime(calls);
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_TRUE(results[i].ok()) << names[i] << ": " << results[i].status();
    const Arrays arrays = ArraysOf(names[i]);
    for (const auto& [name, value] : *results[i]) {
      EXPECT_EQ(
          testing::Difference(value.tensor(), As(arrays.at(name), DType::kFloat32), 2e-4, 2e-5), "")
          << names[i] << " " << name;
    }
  }
}

}  // namespace
}  // namespace onward::training
