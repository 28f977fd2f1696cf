// The models by name with torchvision's, transformers' and PyTorch's weights: their logits and
// gradients (make_cases.py); ONNX Runtime runs them.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "graph/base/name_pattern.h"
#include "onward/models.h"
#include "onward/session.h"
#include "tests/support/gradient_case.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/onnxruntime.h"
#include "training/gradient/gradient_model.h"
#include "training/prepare/mode.h"
#include "training/prepare/state_dict.h"

namespace onward::training {
namespace {

using Arrays = std::map<std::string, Tensor>;

struct Case {
  std::string name;
  std::map<std::string, double> options;
  LoadOptions load;
};

LoadOptions Gpt2Names() {
  LoadOptions options;
  options.renames = {{"^transformer\\.", ""}};
  options.transposed = {"*.c_attn.weight", "*.c_proj.weight", "*.c_fc.weight"};
  return options;
}

std::vector<Case> Cases() {
  return {
      {"mlp", {{"channels", 2}, {"size", 4}, {"hidden", 6}, {"classes", 5}}, {}},
      {"mnist_cnn", {{"size", 12}, {"width", 3}, {"classes", 4}}, {}},
      {"resnet_cifar", {{"size", 8}, {"width", 2}, {"classes", 5}}, {}},
      {"resnet18", {{"size", 32}, {"width", 2}, {"classes", 5}}, {}},
      {"resnet50", {{"size", 32}, {"width", 2}, {"classes", 5}}, {}},
      {"lstm_lm", {{"vocabulary", 11}, {"embedding", 4}, {"hidden", 5}}, {}},
      {"unet", {{"size", 8}, {"width", 2}, {"depth", 2}, {"classes", 3}}, {}},
      {"bert",
       {{"vocabulary", 13},
        {"layers", 2},
        {"heads", 2},
        {"width", 8},
        {"inner", 12},
        {"context", 9},
        {"classes", 3},
        {"dropout", 0.1}},
       {}},
      {"gpt",
       {{"vocabulary", 13}, {"layers", 2}, {"heads", 2}, {"width", 8}, {"context", 7}},
       Gpt2Names()},
  };
}

// Of one case, by the name in it ("x", "p/fc.weight").
Arrays ArraysOf(const std::string& name) {
  static const auto* const all = new absl::StatusOr<Arrays>(
      files::ReadNpz(absl::StrCat(ONWARD_SOURCE_DIR, "/tests/training/built_models/cases.npz")));
  EXPECT_TRUE(all->ok()) << all->status();
  Arrays arrays;
  for (const auto& [key, value] : **all) {
    if (absl::StartsWith(key, name + "/")) arrays[key.substr(name.size() + 1)] = value;
  }
  return arrays;
}

Arrays WithPrefix(const Arrays& arrays, const std::string& prefix) {
  Arrays found;
  for (const auto& [key, value] : arrays) {
    if (absl::StartsWith(key, prefix)) found[key.substr(prefix.size())] = value;
  }
  return found;
}

absl::StatusOr<Model> Build(const Case& c, const Arrays& arrays, bool in_double) {
  std::map<std::string, double> options = c.options;
  options["double"] = in_double;
  auto model = BuildModel(c.name, options);
  if (!model.ok()) return model;
  const auto loaded = LoadStateDict(*model, WithPrefix(arrays, "p/"), c.load);
  if (!loaded.ok()) return loaded.status();
  return model;
}

Tensor Transposed(const Tensor& from) {
  Tensor to(DType::kFloat64, {from.dims()[1], from.dims()[0]});
  for (int64_t i = 0; i < from.dims()[0]; ++i) {
    for (int64_t j = 0; j < from.dims()[1]; ++j)
      to.mutable_data<double>()[j * from.dims()[0] + i] =
          from.data<double>()[i * from.dims()[1] + j];
  }
  return to;
}

std::string InputOf(const Model& model) { return model.graph.value(model.graph.inputs()[0]).name; }

class BuiltModelsTest : public ::testing::TestWithParam<size_t> {};

TEST_P(BuiltModelsTest, LogitsAndGradientsArePyTorchs) {
  const Case c = Cases()[GetParam()];
  const Arrays arrays = ArraysOf(c.name);
  auto model = Build(c, arrays, true);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string input = InputOf(*model);
  if (arrays.contains("trains")) {
    const auto change = SetTrainingMode(*model);
    ASSERT_TRUE(change.ok()) << change.status();
    EXPECT_GT(change->batch_normalizations, 5);
  } else {
    ASSERT_TRUE(SetInferenceMode(*model).ok());
  }
  std::map<std::string, Tensor> wanted = {{"logits", arrays.at("logits")}};
  GradientModelOptions options;
  options.of = {"logits"};
  for (const auto& [key, value] : WithPrefix(arrays, "g/")) {
    std::string name = key;
    for (const auto& [from, to] : c.load.renames)
      name = std::regex_replace(name, std::regex(from), to);
    options.wrt.push_back(name);
    wanted["grad/" + name] = MatchesAny(name, c.load.transposed) ? Transposed(value) : value;
  }
  const auto names = MakeGradientModel(*model, options);
  ASSERT_TRUE(names.ok()) << names.status();
  auto session = Session::Create(*std::move(model));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs =
      (*session)->Run({{input, arrays.at("x")}, {"grad/logits", arrays.at("d_logits")}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (const auto& [name, value] : wanted) {
    const Tensor& got = outputs->at(name).tensor();
    EXPECT_EQ(testing::Difference(got, value, 5e-6, 1e-6), "") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BuiltModelsTest, ::testing::Range(size_t{0}, Cases().size()),
                         [](const auto& param) { return Cases()[param.param].name; });

// Dropouts in the training form, through attention and between recurrent layers too: what they do
// changes from run to run, and gradients are finite.
TEST(BuiltModels, TrainWithDropout) {
  for (Case c : Cases()) {
    if (c.name != "bert" && c.name != "gpt" && c.name != "lstm_lm") continue;
    c.options["dropout"] = 0.3;
    const Arrays arrays = ArraysOf(c.name);
    auto model = Build(c, arrays, false);
    ASSERT_TRUE(model.ok()) << model.status();
    const std::string input = InputOf(*model);
    const auto change = SetTrainingMode(*model);
    ASSERT_TRUE(change.ok()) << change.status();
    EXPECT_EQ(change->dropouts, c.name == "lstm_lm" ? 3 : 2 * 3 + (c.name == "bert" ? 2 : 1));
    GradientModelOptions options;
    options.of = {"logits"};
    for (const auto& [name, value] : StateDictOf(*model)) options.wrt.push_back(name);
    ASSERT_TRUE(MakeGradientModel(*model, options).ok());
    auto session = Session::Create(*std::move(model));
    ASSERT_TRUE(session.ok()) << session.status();
    std::vector<Tensor> logits;
    for (int run = 0; run < 2; ++run) {
      const auto outputs = (*session)->Run(
          {{input, arrays.at("x")},
           {"grad/logits", testing::ToFloat(arrays.at("d_logits"), DType::kFloat32)}});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      logits.push_back(outputs->at("logits").tensor());
      for (const auto& [name, value] : *outputs) {
        for (const float each : value.tensor().span<float>()) ASSERT_TRUE(std::isfinite(each));
      }
    }
    EXPECT_FALSE(SameBits(logits[0], logits[1])) << c.name;
  }
}

// As they are built, dropouts and all, in float.
TEST(BuiltModels, RunInOnnxRuntime) {
  if (!testing::HasOnnxRuntime()) GTEST_SKIP() << "ONNX Runtime is not installed (scripts/peers)";
  std::vector<testing::OnnxRuntimeCall> calls;
  std::vector<std::string> names;
  for (const Case& c : Cases()) {
    const Arrays arrays = ArraysOf(c.name);
    if (arrays.contains("trains")) continue;
    auto model = Build(c, arrays, false);
    ASSERT_TRUE(model.ok()) << model.status();
    const Tensor& x = arrays.at("x");
    const Tensor own = x.dtype() == DType::kFloat64 ? testing::ToFloat(x, DType::kFloat32) : x;
    const std::string input = InputOf(*model);
    calls.push_back({*std::move(model), {{input, own}}});
    names.push_back(c.name);
  }
  const auto results = testing::RunInOnnxRuntime(calls);
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_TRUE(results[i].ok()) << names[i] << ": " << results[i].status();
    const Tensor want = testing::ToFloat(ArraysOf(names[i]).at("logits"), DType::kFloat32);
    EXPECT_EQ(testing::Difference(results[i]->at("logits").tensor(), want, 1e-3, 1e-4), "")
        << names[i];
  }
}

}  // namespace
}  // namespace onward::training
