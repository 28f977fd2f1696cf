// The configs of examples/finetune, shortened, on models as PyTorch exports them: loss falls, and
// layers that are frozen have no backward pass. Needs the zoo (ONWARD_ZOO) and, for images,
// ONWARD_DATA_DIR.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/train_config.h"
#include "onward/training.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/test_data.h"
#include "training/trainer/training_loop.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;

struct Outcome {
  std::vector<double> losses;
  int64_t nodes = 0, bytes = 0;
  std::vector<std::string> parameters;
};

Outcome FineTune(const std::string& example, const std::string& model, const std::string& data,
                 std::vector<std::string> changes) {
  Outcome outcome;
  changes.insert(changes.end(), {absl::StrCat("model=", model), "evaluation=", "schedule="});
  const auto config = ReadTrainConfig(
      absl::StrCat(ONWARD_SOURCE_DIR, "/examples/finetune/", example, ".textproto"), changes);
  EXPECT_TRUE(config.ok()) << config.status();
  if (!config.ok()) return outcome;
  TrainerOptions options;
  options.directory = data;
  options.on_step = [&](const StepReport& report) { outcome.losses.push_back(report.loss); };
  const auto trainer = Trainer::Create(*config, options);
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  if (!trainer.ok()) return outcome;
  const absl::Status run = (*trainer)->Run();
  EXPECT_TRUE(run.ok()) << run;
  outcome.nodes = static_cast<int64_t>(
      static_cast<TrainingLoop&>(**trainer).session().session().graph().node_ids().size());
  outcome.bytes = (*trainer)->planned_memory().arena + (*trainer)->planned_memory().state;
  outcome.parameters = (*trainer)->parameters();
  const auto trained = (*trainer)->TrainedModel();
  EXPECT_TRUE(trained.ok()) << trained.status();
  return outcome;
}

// All examples of a step are the same ones.
void ExpectLearnsAndPrunes(const Outcome& frozen, const Outcome& whole) {
  for (const Outcome* each : {&frozen, &whole}) {
    ASSERT_GE(each->losses.size(), 3u);
    EXPECT_LT(each->losses.back(), each->losses.front());
  }
  EXPECT_THAT(frozen.parameters, ElementsAre("head.weight", "head.bias"));
  EXPECT_GT(whole.parameters.size(), 50u);
  EXPECT_LT(2 * frozen.nodes, whole.nodes);
  EXPECT_LT(2 * frozen.bytes, whole.bytes);
}

TEST(FineTuneTest, ResNet50) {
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  const std::string data = testing::DirectoryFrom("ONWARD_DATA_DIR");
  ONWARD_NEEDS_DATA(data, "ONWARD_DATA_DIR");
  const auto run = [&](const std::string& example) {
    return FineTune(example, zoo + "/resnet50/model.onnx", data + "/data/cifar10",
                    {"batch_size=4", "steps=4", "data.part.limit=4"});
  };
  ExpectLearnsAndPrunes(run("resnet50_head"), run("resnet50"));
}

TEST(FineTuneTest, Bert) {
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  testing::ScratchDirectory scratch;
  // Of several lengths, which a batch pads.
  std::string lines;
  for (int i = 0; i < 4; ++i) {
    std::string ids = "101", ones = "1", zeros = "0";
    for (int k = 0; k < 5 + i; ++k) {
      absl::StrAppend(&ids, ", ", 1000 + 977 * (i % 2) + 31 * k + i);
      absl::StrAppend(&ones, ", 1");
      absl::StrAppend(&zeros, ", 0");
    }
    absl::StrAppend(&lines, "{\"input_ids\": [", ids, "], \"attention_mask\": [", ones,
                    "], \"token_type_ids\": [", zeros, "], \"label\": ", i % 2, "}\n");
  }
  scratch.Write("train.jsonl", lines);
  const auto run = [&](const std::string& example) {
    return FineTune(example, zoo + "/bert_base/model.onnx", scratch.path(),
                    {"batch_size=4", "epochs=", "steps=4", "head.dropout=0"});
  };
  ExpectLearnsAndPrunes(run("bert_head"), run("bert"));
}

}  // namespace
}  // namespace onward::training
