#include "training/step/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onward::training {
namespace {

using ::testing::HasSubstr;

TEST(Progress, IsReadAsItWasWritten) {
  TrainingProgress progress;
  progress.step = 7;
  progress.epoch = 2;
  progress.batch = 3;
  progress.best = 0.25;
  progress.statistics_of = 5;
  const auto read = ProgressOf(TextOf(progress));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(TextOf(*read), TextOf(progress));
}

// The place of the next batch was read before the data, and without an end.
TEST(Progress, NumbersThatNoTrainingWritesAreRefused) {
  for (const char* name : {"step", "epoch", "batch", "averaged", "scale_steps"}) {
    for (const char* value : {"-1", "-9223372036854775808", "9223372036854775807", "many", ""}) {
      auto values = TextOf(TrainingProgress());
      values[name] = value;
      const auto read = ProgressOf(values);
      ASSERT_FALSE(read.ok()) << name << " " << value;
      EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
      EXPECT_THAT(std::string(read.status().message()), HasSubstr(std::string("'") + name + "'"));
    }
  }
}

}  // namespace
}  // namespace onward::training
