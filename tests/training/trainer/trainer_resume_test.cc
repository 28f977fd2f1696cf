// A training that was cut off continues to the same bits.
#include "onward/training.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;
using testing::TrainerTest;

// Everything that may differ after a pause: momenta, averages, a plateau, dropped elements,
// running statistics, shuffled data in the middle of an epoch.
TEST_F(TrainerTest, GoesOnBitForBit) {
  WriteNormalized(/*dropout=*/true);
  TrainConfig config = Config(R"(steps: 25 accumulate: 2 batch_size: 8 average { start: 3 }
      schedule { plateau { patience: 1 } } checkpoint { every_steps: 100 })");
  config.mutable_evaluation()->set_every_steps(4);
  config.mutable_optimizer()->mutable_sgd()->set_momentum(0.9);
  const auto whole = Train(config);
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const int64_t pause : {1, 7, 24}) {
    SCOPED_TRACE(pause);
    TrainerOptions options;
    options.checkpoint_directory = scratch_.path() + absl::StrCat("/checkpoints", pause);
    options.resume = true;
    int64_t steps = 0;
    options.stop = [&] { return ++steps == pause; };
    auto begun = Train(config, options);
    ASSERT_TRUE(begun.ok()) << begun.status();
    ASSERT_EQ((*begun)->steps_done(), pause);
    begun->reset();  // gives the directory free
    options.stop = nullptr;
    const auto ended = Train(config, options);
    ASSERT_TRUE(ended.ok()) << ended.status();
    ASSERT_EQ((*ended)->steps_done(), 25);
    ExpectSameState(**ended, **whole);
  }
  TrainConfig other = config;
  other.set_seed(9);
  TrainerOptions options;
  options.checkpoint_directory = scratch_.path() + "/checkpoints7";
  options.resume = true;
  EXPECT_THAT(std::string(Train(other, options).status().message()),
              HasSubstr("is of seed 0, the config has 9"));
}

}  // namespace
}  // namespace onward::training
