// What a training says that it will take is what it takes: images and text, sizes that are known
// and sizes that are not, with evaluation, checkpoints, frozen weights and budgets.
#include <fstream>

#include "graph/base/byte_text.h"
#include "tests/training/trainer_fixture.h"

namespace onward {
namespace {

using ::testing::HasSubstr;
using testing::RunTrainer;
using testing::TrainerTest;

TrainConfig Parsed(const std::string& text) {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(text, &config));
  return config;
}

class TrainerMemoryTest : public TrainerTest {
 protected:
  void SetUp() override {
    TrainerTest::SetUp();
    std::string text;
    std::mt19937 random(5);
    for (int i = 0; i < 20000; ++i) text += static_cast<char>('a' + random() % 26);
    scratch_.Write("input.txt", text);
    std::string lines;
    for (int i = 0; i < 64; ++i) {
      const int length = 4 + static_cast<int>(random() % 29);
      std::string ids, labels;
      for (int k = 0; k < length; ++k) {
        absl::StrAppend(&ids, k > 0 ? "," : "", random() % 50);
        absl::StrAppend(&labels, k > 0 ? "," : "", random() % 50);
      }
      absl::StrAppend(&lines, "{\"tokens\": [", ids, "], \"label\": [", labels, "]}\n");
    }
    scratch_.Write("lines.jsonl", lines);
  }

  static constexpr char kOptimizer[] =
      "optimizer { name: \"AdamW\" options { key: \"lr\" value: 1e-3 } } seed: 1 threads: 2 ";
  static constexpr char kText[] =
      "loss { kind: \"cross_entropy\" class_axis: -1 } batch_size: 16 "
      "data { text { path: \"input.txt\" tokens: CHARACTERS window: 32 random: true } } ";

  static TrainConfig Gpt(const std::string& more) {
    return Parsed(absl::StrCat(
        R"(built { name: "gpt" options { key: "vocabulary" value: 26 }
                   options { key: "layers" value: 3 } options { key: "width" value: 64 }
                   options { key: "heads" value: 2 } options { key: "context" value: 32 } } )",
        kOptimizer, kText, more));
  }
  static TrainConfig Lstm(const std::string& more) {
    return Parsed(absl::StrCat(
        R"(built { name: "lstm_lm" options { key: "vocabulary" value: 26 }
                   options { key: "embedding" value: 32 } options { key: "hidden" value: 48 } } )",
        kOptimizer, kText, more));
  }

  // Trains, and within the limits that the plan gives.
  void ExpectPlanned(const TrainConfig& config, TrainerOptions options = {}, double over = 0.05) {
    SCOPED_TRACE(config.DebugString());
    options.directory = scratch_.path();
    const auto trainer = Trainer::Create(config, options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    const auto planned = static_cast<double>((*trainer)->planned_bytes());
    const absl::Status run = (*trainer)->Run();
    ASSERT_TRUE(run.ok()) << run;
    EXPECT_LE(static_cast<double>((*trainer)->peak_bytes()), 1.05 * planned);
    EXPECT_GE(static_cast<double>((*trainer)->peak_bytes()), (1 - over) * planned);
    TrainConfig limited = config;
    limited.set_max_memory(absl::StrCat(static_cast<int64_t>(1.02 * planned)));
    if (!options.checkpoint_directory.empty()) options.checkpoint_directory += "_again";
    const auto again = RunTrainer(limited, scratch_.path(), options);
    EXPECT_TRUE(again.ok()) << again.status();
    limited.set_max_memory(absl::StrCat(static_cast<int64_t>(0.6 * planned)));
    const auto refused = RunTrainer(limited, scratch_.path(), options);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted) << refused.status();
  }

  static constexpr char kEvaluates[] =
      "evaluation { data { text { path: \"input.txt\" tokens: CHARACTERS window: 32 from: 0.9 } } "
      "batch_size: 48 every_steps: 2 } ";
};

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

// The first batch is not the longest. Which lengths come together is not known before: the plan has
// room for as many as there can be.
TEST_F(TrainerMemoryTest, ExamplesOfDifferentLengths) {
  const std::string data = R"(data {
      jsonl { path: "lines.jsonl" field { name: "tokens" element: INT64 dim: -1 }
              field { name: "label" element: INT64 dim: -1 } }
      pad { key: "tokens" value: 0 } pad { key: "label" value: -100 } } )";
  ExpectPlanned(
      Parsed(absl::StrCat(
          R"(built { name: "gpt" options { key: "vocabulary" value: 50 }
                 options { key: "layers" value: 2 } options { key: "width" value: 64 }
                 options { key: "heads" value: 2 } options { key: "context" value: 64 } } )",
          kOptimizer, "loss { kind: \"cross_entropy\" class_axis: -1 } batch_size: 4 epochs: 1 ",
          data)),
      {}, 0.15);
}

// A budget between what a step needs without and with recomputation.
TEST_F(TrainerMemoryTest, ABudgetIsKept) {
  const auto whole = RunTrainer(Gpt("steps: 3"), scratch_.path(), {});
  ASSERT_TRUE(whole.ok()) << whole.status();
  TrainConfig tight = Gpt("steps: 3");
  tight.mutable_recompute()->set_memory_budget("100kB");
  const auto refused = RunTrainer(tight, scratch_.path(), {});
  const std::string message(refused.status().message());
  EXPECT_THAT(message, HasSubstr("recompute.memory_budget: the training needs "));
  // What is said to be the least is enough.
  const size_t begin = message.find("needs ") + 6;
  const std::string least = message.substr(begin, message.find(" bytes at least") - begin);
  const auto bytes = ParseBytes("least", least);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_LT(*bytes, (*whole)->planned_bytes() * 8 / 10);
  tight.mutable_recompute()->set_memory_budget(absl::StrCat(*bytes));
  const auto kept = RunTrainer(tight, scratch_.path(), {});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_GT((*kept)->recomputed_segments(), 0);
  EXPECT_LE((*kept)->peak_bytes(), *bytes);
}

}  // namespace
}  // namespace onward
