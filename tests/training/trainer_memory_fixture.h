// Trainings that take what they were planned to take.
#pragma once

#include <random>
#include <string>

#include "tests/training/trainer/trainer_fixture.h"

namespace onward::testing {

inline TrainConfig Parsed(const std::string& text) {
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

  static constexpr char kOptimizer[] = "optimizer { adamw { lr: 1e-3 } } seed: 1 threads: 2 ";
  static constexpr char kText[] =
      "loss { cross_entropy { class_axis: -1 } } batch_size: 16 "
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
  // What is planned, by what it is for.
  static std::string PartsOf(const TrainingMemory& planned) {
    return absl::StrCat("held ", planned.held, ", state ", planned.state, ", arena ", planned.arena,
                        ", outputs ", planned.outputs, ", plans ", planned.plans, ", copies ",
                        planned.copies, ", optimizer ", planned.optimizer, ", batches ",
                        planned.batches, ", measured ", planned.measured, " of ",
                        planned.sized_at_run, " nodes, creation ", planned.creation);
  }

  void ExpectPlanned(const TrainConfig& config, TrainerOptions options = {}) {
    SCOPED_TRACE(config.DebugString());
    options.directory = scratch_.path();
    const auto trainer = Trainer::Create(config, options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    const auto planned = static_cast<double>((*trainer)->planned_bytes());
    SCOPED_TRACE(PartsOf((*trainer)->planned_memory()));
    const absl::Status run = (*trainer)->Run();
    ASSERT_TRUE(run.ok()) << run;
    EXPECT_LE(static_cast<double>((*trainer)->peak_bytes()), 1.05 * planned);
    EXPECT_GE(static_cast<double>((*trainer)->peak_bytes()), 0.95 * planned);
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

}  // namespace onward::testing
