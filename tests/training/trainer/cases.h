// Trainings that PyTorch made in double (make_cases.py), as configs of ours.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "files/safetensors.h"
#include "google/protobuf/text_format.h"
#include "onward/training.h"
#include "tests/support/scratch_directory.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::testing {

inline constexpr const char* kNetStates[] = {
    "fc1.weight",      "fc1.bias",   "bn1.weight", "bn1.bias",   "bn1.running_mean",
    "bn1.running_var", "fc2.weight", "fc2.bias",   "fc3.weight", "fc3.bias"};

class TrainerCaseTest : public ::testing::Test {
 protected:
  // A case's arrays; its data become "data.safetensors".
  void Load(const std::string& name) {
    auto arrays =
        files::ReadNpz(ONWARD_SOURCE_DIR "/tests/training/trainer/cases/" + name + ".npz");
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    arrays_ = {arrays->begin(), arrays->end()};
    files::Safetensors data;
    for (const auto& [key, value] : arrays_) {
      if (absl::StartsWith(key, "data/")) data.tensors[key.substr(5)] = value;
    }
    ASSERT_TRUE(files::WriteSafetensors(data, scratch_.path("data.safetensors")).ok());
  }

  // make_cases.py's Net: one BatchNormalization, used twice.
  Model NormalizedNet() const {
    GraphBuilder b("net");
    std::map<std::string, expr::Expr> parameters;
    for (const char* each : kNetStates)
      parameters[each] = b.Constant(arrays_.at(absl::StrCat("start/", each)), each);
    const auto linear = [&](const expr::Expr& x, const std::string& layer) {
      return expr::Gemm(x, parameters.at(layer + ".weight"), parameters.at(layer + ".bias"), false,
                        true);
    };
    const auto normalized = [&](const expr::Expr& x) {
      return expr::Relu(
          expr::Op("BatchNormalization",
                   {x, parameters.at("bn1.weight"), parameters.at("bn1.bias"),
                    parameters.at("bn1.running_mean"), parameters.at("bn1.running_var")},
                   {{"momentum", 0.9f}}));
    };
    const expr::Expr x = b.Input("x", DType::kFloat64, {"batch", 4});
    b.Output("y", linear(normalized(linear(normalized(linear(x, "fc1")), "fc2")), "fc3"));
    return *b.Build();
  }

  // Trains "model.onnx" on the data in their order, the last batch too, and evaluates on them.
  static TrainConfig Config(const std::string& more) {
    TrainConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
        absl::StrCat(R"(model: "model.onnx" optimizer { sgd {} }
                        data { safetensors { path: "data.safetensors" } shuffle: false
                               drop_last: false }
                        evaluation { data { safetensors { path: "data.safetensors" } } }
                        export { weights: LAST } )",
                     more),
        &config))
        << more;
    return config;
  }

  static double Number(const Tensor& tensor, int64_t i) {
    return tensor.dtype() == DType::kFloat64 ? tensor.data<double>()[i]
                                             : static_cast<double>(tensor.data<float>()[i]);
  }
  void ExpectState(Trainer& trainer, const std::string& state, const std::string& want,
                   double tolerance) {
    const auto got = trainer.State(state);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectNear(*got, arrays_.at(want), state, tolerance);
  }
  static void ExpectNear(const Tensor& got, const Tensor& want, const std::string& what,
                         double tolerance) {
    ASSERT_EQ(got.dims(), want.dims()) << what;
    for (int64_t i = 0; i < want.num_elements(); ++i)
      EXPECT_NEAR(Number(got, i), Number(want, i), tolerance) << what << ", element " << i;
  }

  std::map<std::string, Tensor> arrays_;
  ScratchDirectory scratch_;
};

}  // namespace onward::testing
