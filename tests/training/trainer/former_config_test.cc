// Checkpoints whose config an earlier version wrote, in a spelling that is not read any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "training/trainer/checkpoint_model.h"
#include "training/trainer/same_training.h"

namespace onward::training {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kFormer[] =
    "model: \"m.onnx\" loss { kind: \"mse\" } optimizer { name: \"AdamW\" options { key: \"lr\" "
    "value: 0.1 } } data { npz { path: \"d.npz\" } } batch_size: 4 steps: 3";

std::map<std::string, std::string> Described(const std::string& optimizer) {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "model: 'm.onnx' loss { mse {} } data { npz { path: 'd.npz' } } batch_size: 4 steps: 3 "
      "optimizer { " +
          optimizer + " }",
      &config));
  return DescribeTraining(config, "nowhere", "nowhere");
}

TEST(FormerConfig, ResumesAndSaysThatChangesAreNotListed) {
  std::map<std::string, std::string> before = Described("adamw { lr: 0.1 }");
  before["config"] = kFormer;
  std::vector<std::string> warnings;
  const auto log = [&](const LogRecord& record) { warnings.push_back(record.message); };
  const absl::Status same = CheckSameTraining(before, Described("adamw { lr: 0.2 }"), false, log);
  EXPECT_TRUE(same.ok()) << same;
  EXPECT_THAT(warnings, ::testing::ElementsAre(AllOf(
                            HasSubstr("loss.kind is written as a message of its own now: loss { "
                                      "mse {} }"),
                            HasSubstr("changes since then are not listed"))));
  // What cannot change is compared even so.
  EXPECT_THAT(std::string(CheckSameTraining(before, Described("adam {}"), false, log).message()),
              HasSubstr("is of optimizer AdamW, the config has Adam"));
}

TEST(FormerConfig, ChangesAreListedFieldByField) {
  std::string warning;
  const absl::Status same =
      CheckSameTraining(Described("adamw { lr: 0.1 }"), Described("adamw { lr: 0.2 }"), false,
                        [&](const LogRecord& record) { warning = record.message; });
  EXPECT_TRUE(same.ok()) << same;
  EXPECT_THAT(warning, HasSubstr("optimizer.adamw.lr: 0.1 -> 0.2"));
}

TEST(FormerConfig, AnExportWantsTheConfigNamed) {
  LoadedCheckpoint checkpoint;
  checkpoint.path = "checkpoints/3-step-9";
  checkpoint.state.values = {{"config", kFormer}, {"directory", "nowhere"}};
  EXPECT_THAT(std::string(ConfigOfCheckpoint(checkpoint).status().message()),
              AllOf(HasSubstr("'checkpoints/3-step-9' has a config that an earlier version wrote"),
                    HasSubstr("loss.kind is written as"),
                    HasSubstr("name the config, as it is written today")));
  checkpoint.state.values["config"] = Described("adamw { lr: 0.1 }")["config"];
  EXPECT_TRUE(ConfigOfCheckpoint(checkpoint).ok());
}

}  // namespace
}  // namespace onward::training
