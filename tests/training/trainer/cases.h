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

class TrainerCaseTest : public ::testing::Test {
 protected:
  // A case's arrays; its data become "data.safetensors".
  void Load(const std::string& name) {
    auto arrays = ReadNpz(ONWARD_SOURCE_DIR "/tests/training/trainer/cases/" + name + ".npz");
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    arrays_ = {arrays->begin(), arrays->end()};
    Safetensors data;
    for (const auto& [key, value] : arrays_) {
      if (absl::StartsWith(key, "data/")) data.tensors[key.substr(5)] = value;
    }
    ASSERT_TRUE(WriteSafetensors(data, scratch_.path("data.safetensors")).ok());
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
