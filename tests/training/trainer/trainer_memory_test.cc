// What a training says that it will take is what it takes: images and text, sizes that are known
// and sizes that are not, with evaluation, checkpoints, frozen weights and budgets.
#include "graph/base/byte_text.h"
#include "tests/training/trainer_memory_fixture.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;
using testing::Parsed;
using testing::RunTrainer;
using testing::TrainerMemoryTest;

// How many batches are read ahead is a matter of time: here none is.
TEST_F(TrainerMemoryTest, Images) {
  for (const char* more : {"epochs: 2", "epochs: 2 non_finite: SKIP",
                           "epochs: 2 accumulate: 2 clip { global_norm: 1 }"}) {
    TrainConfig config = Config(more);
    config.mutable_data()->set_workers(0);
    config.mutable_evaluation()->mutable_data()->set_workers(0);
    ExpectPlanned(config);
  }
}

TEST_F(TrainerMemoryTest, TextOfOpenSizes) {
  ExpectPlanned(Gpt("steps: 4"));
  ExpectPlanned(Gpt("steps: 4 clip { global_norm: 1 } accumulate: 2"));
  ExpectPlanned(Lstm("steps: 4"));
}

TEST_F(TrainerMemoryTest, EvaluationsAndAverages) {
  ExpectPlanned(Gpt(absl::StrCat("steps: 4 ", kEvaluates)));
  ExpectPlanned(Gpt(absl::StrCat("steps: 4 average { decay: 0.9 } ", kEvaluates)));
}

TEST_F(TrainerMemoryTest, FrozenWeights) { ExpectPlanned(Gpt("steps: 3 trainable: \"ln_f.*\"")); }

TEST_F(TrainerMemoryTest, StepsWhileACheckpointIsWritten) {
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path("checkpoints");
  ExpectPlanned(Gpt("steps: 5 checkpoint { every_steps: 2 }"), options);
}

// What a refusal of a budget says to be the least.
int64_t LeastOf(const absl::Status& refused) {
  const std::string message(refused.message());
  EXPECT_THAT(message, HasSubstr("recompute.memory_budget: the training needs "));
  const size_t begin = message.find("needs ") + 6;
  const auto bytes =
      ParseBytes("least", message.substr(begin, message.find(" bytes at least") - begin));
  EXPECT_TRUE(bytes.ok()) << message;
  return bytes.value_or(0);
}

// Between what a step needs without and with recomputation.
TEST_F(TrainerMemoryTest, TheLeastBudgetIsKept) {
  for (const bool is_plain : {true, false}) {
    const char* more =
        is_plain ? "steps: 3" : "steps: 3 accumulate: 2 precision { autocast: FLOAT16 }";
    SCOPED_TRACE(more);
    const auto whole = RunTrainer(Gpt(more), scratch_.path(), {});
    ASSERT_TRUE(whole.ok()) << whole.status();
    TrainConfig tight = Gpt(more);
    tight.mutable_recompute()->set_memory_budget("100kB");
    const int64_t least = LeastOf(RunTrainer(tight, scratch_.path(), {}).status());
    EXPECT_LT(least, (*whole)->planned_bytes() * (is_plain ? 8 : 10) / 10);
    for (const int64_t budget : {least, least + least / 20}) {
      tight.mutable_recompute()->set_memory_budget(absl::StrCat(budget));
      const auto kept = RunTrainer(tight, scratch_.path(), {});
      ASSERT_TRUE(kept.ok()) << kept.status();
      EXPECT_GT((*kept)->recomputed_segments(), 0);
      EXPECT_LE((*kept)->planned_bytes(), budget);
      EXPECT_LE((*kept)->peak_bytes(), budget);
      EXPECT_GE((*kept)->peak_bytes(), (*kept)->planned_bytes() * 95 / 100);
    }
    if (!is_plain) continue;
    tight.mutable_recompute()->set_memory_budget(absl::StrCat(least - 1));
    EXPECT_EQ(LeastOf(RunTrainer(tight, scratch_.path(), {}).status()), least);
  }
}

}  // namespace
}  // namespace onward::training
