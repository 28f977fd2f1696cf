// A training that was cut off goes on to the same bits.
#include <cstring>

#include "tests/training/trainer_fixture.h"
#include "training/trainer.h"

namespace onward {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::kSide;
using testing::Normal;
using testing::TrainerTest;

// Everything that may differ after a pause: momenta, averages, a plateau, dropped elements,
// running statistics, shuffled data in the middle of an epoch.
TEST_F(TrainerTest, GoesOnBitForBit) {
  GraphBuilder builder("everything");
  const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
  const auto constant = [&](float value, const char* name) {
    return builder.Constant(Tensor::Of<float>({1}, {value}), name);
  };
  const Expr normal = Op("BatchNormalization", {image, constant(1, "scale"), constant(0, "shift"),
                                                constant(0, "mean"), constant(1, "variance")});
  const Expr dropped = Op("Dropout", {Op("Flatten", {normal})});
  builder.Output("logits", Gemm(dropped, builder.Constant(Normal({36, 3}, 0.2, 1), "fc.weight")));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/mlp.onnx").ok());
  TrainConfig config = Config(R"(steps: 25 accumulate: 2 batch_size: 8 average { start: 3 }
      schedule { kind: "plateau" patience: 1 } checkpoint { every_steps: 100 })");
  config.mutable_evaluation()->set_every_steps(4);
  (*config.mutable_optimizer()->mutable_options())["momentum"] = 0.9;
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
    for (const std::string& name : (*whole)->session().state_names()) {
      const Tensor want = *(*whole)->session().State(name), got = *(*ended)->session().State(name);
      EXPECT_EQ(std::memcmp(want.raw_data(), got.raw_data(), want.byte_size()), 0) << name;
    }
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
}  // namespace onward
