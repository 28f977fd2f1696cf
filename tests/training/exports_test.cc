// Networks as PyTorch's exporter writes them (exports/make_exports.py): what is trained is what the
// source has as parameters, and gradients are those of PyTorch's autograd, in double precision,
// past detach(), merged and folded weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "graph/ir/verify.h"
#include "onward/export.h"
#include "onward/import.h"
#include "tests/support/gradient_case.h"
#include "tests/support/kernel_runner.h"
#include "training/gradient/gradient_model.h"
#include "training/prepare/restore_source.h"
#include "training/prepare/trainable.h"
#include "training/source/stop_gradients.h"
#include "training/source/torch_export.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

const std::string kFolder = absl::StrCat(ONWARD_SOURCE_DIR, "/tests/training/exports/");

struct Restored {
  Model model;
  std::vector<std::string> initializers, warnings;
  std::vector<std::string> trained;
};

Restored Restore(absl::StatusOr<Model> model, std::vector<std::string> initializers) {
  Restored made;
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return made;
  made.model = *std::move(model);
  made.initializers = std::move(initializers);
  const absl::Status restored =
      RestoreSource(made.model.graph, made.initializers, {},
                    [&](const LogRecord& record) { made.warnings.push_back(record.message); });
  EXPECT_TRUE(restored.ok()) << restored;
  EXPECT_TRUE(Verify(made.model.graph).ok()) << Verify(made.model.graph);
  const auto choices =
      ChooseTrainable(made.model, made.initializers, made.model.graph.outputs()[0], {}, {});
  EXPECT_TRUE(choices.ok()) << choices.status();
  for (const WeightChoice& choice : choices.value_or(std::vector<WeightChoice>()))
    if (choice.trained) made.trained.push_back(choice.name);
  return made;
}

Restored Load(const std::string& name) {
  std::vector<std::string> initializers;
  ImportOptions options;
  options.initializers = &initializers;
  auto model = ImportFile(absl::StrCat(kFolder, name, ".onnx"), options);
  return Restore(std::move(model), initializers);
}

// The parameter that a weight is, or whose elements it has.
std::string ParameterOf(const Model& model, const std::string& weight) {
  const TorchInitializer about =
      TorchExport(model.graph).Find(model.graph, model.graph.FindValue(weight));
  return about.parameters.size() == 1 ? about.parameters[0] : weight;
}

Tensor Transposed(const Tensor& tensor) {
  Tensor result(tensor.dtype(), Dims{tensor.dims()[1], tensor.dims()[0]});
  for (int64_t i = 0; i < tensor.dims()[0]; ++i) {
    for (int64_t j = 0; j < tensor.dims()[1]; ++j)
      result.mutable_data<double>()[j * tensor.dims()[0] + i] =
          tensor.data<double>()[i * tensor.dims()[1] + j];
  }
  return result;
}

void ExpectGradients(Restored restored, const std::string& network) {
  const auto arrays = files::ReadNpz(absl::StrCat(kFolder, network, ".npz"));
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  std::set<std::string> expected, found;
  Session::Inputs inputs;
  for (const auto& [key, array] : *arrays) {
    if (absl::StartsWith(key, "grad/")) expected.insert(key.substr(5));
    const std::string input = key.substr(3);
    if (absl::StartsWith(key, "in/") && restored.model.graph.FindValue(input).valid())
      inputs[input] = Value(array);
  }
  for (const std::string& weight : restored.trained)
    found.insert(ParameterOf(restored.model, weight));
  EXPECT_THAT(found, UnorderedElementsAreArray(expected));
  EXPECT_EQ(restored.trained.size(), expected.size());
  const std::vector<std::string> trained = restored.trained;
  std::map<std::string, std::string> parameters;
  for (const std::string& weight : trained)
    parameters[weight] = ParameterOf(restored.model, weight);
  GradientModelOptions options;
  options.of = {"loss"};
  options.wrt = trained;
  const auto names = MakeGradientModel(restored.model, options);
  ASSERT_TRUE(names.ok()) << names.status();
  const auto session = Session::Create(restored.model);
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(testing::Difference(outputs->at("loss").tensor(), arrays->at("out/loss"), 1e-9, 1e-12),
            "");
  for (size_t i = 0; i < trained.size(); ++i) {
    const auto wanted = arrays->find(absl::StrCat("grad/", parameters[trained[i]]));
    if (wanted == arrays->end()) continue;
    const Tensor& gradient = outputs->at(names->outputs[i]).tensor();
    const bool turned = parameters[trained[i]] != trained[i] && gradient.rank() == 2;
    EXPECT_EQ(testing::Difference(gradient, turned ? Transposed(wanted->second) : wanted->second,
                                  1e-7, 1e-12),
              "")
        << trained[i];
  }
}

class ExportsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ExportsTest, UnoptimizedIsTheSource) {
  const Restored restored = Load(GetParam());
  EXPECT_THAT(restored.warnings, ::testing::IsEmpty());
  ExpectGradients(restored, GetParam());
}

TEST_P(ExportsTest, OptimizedIsRestored) {
  const Restored restored = Load(absl::StrCat(GetParam(), "_optimized"));
  ExpectGradients(restored, GetParam());
}

// A file that we write says the same again.
TEST_P(ExportsTest, StaysSoWhenWrittenAgain) {
  Restored restored = Load(absl::StrCat(GetParam(), "_optimized"));
  StopGradientsToIdentities(restored.model.graph);
  const auto bytes = ExportBytes(restored.model);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_THAT(*bytes, ::testing::Not(HasSubstr("StopGradient")));
  std::vector<std::string> initializers;
  ImportOptions options;
  options.initializers = &initializers;
  auto model = ImportBytes(*bytes, "", options);
  const Restored again = Restore(std::move(model), initializers);
  EXPECT_THAT(again.trained, UnorderedElementsAreArray(restored.trained));
  ExpectGradients(again, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Networks, ExportsTest,
                         ::testing::Values("parameters", "gates", "tied", "detached", "sim_siam",
                                           "straight_through"));

}  // namespace
}  // namespace onward::training
