// Memory of trainings with what optimizers, precisions, averages and recomputation keep beside the
// weights.
#include <cstring>

#include "tests/training/trainer_memory_fixture.h"

namespace onward::training {
namespace {

using testing::Parsed;
using testing::TrainerMemoryTest;

// The larger part of the memory is the optimizer's.
std::string Lbfgs(const char* options, const char* more) {
  return absl::StrCat(R"(built { name: "gpt" options { key: "vocabulary" value: 26 }
                   options { key: "layers" value: 2 } options { key: "width" value: 32 }
                   options { key: "heads" value: 2 } options { key: "context" value: 32 } }
      loss { cross_entropy { class_axis: -1 } } seed: 1 threads: 2 batch_size: 4
      data { text { path: "input.txt" tokens: CHARACTERS window: 32 random: true } }
      optimizer { lbfgs { lr: 0.1 )",
                      options, " } } ", more);
}

TEST_F(TrainerMemoryTest, HistoryOfLbfgs) {
  ExpectPlanned(Parsed(Lbfgs("", "steps: 3")));
  ExpectPlanned(Parsed(Lbfgs("history_size: 5", "steps: 2")));
  ExpectPlanned(Parsed(Lbfgs("history_size: 30",
                             "steps: 3 "
                             "accumulate: 2")));
  ExpectPlanned(Parsed(Lbfgs("line_search_fn: STRONG_WOLFE history_size: 10", "steps: 2")));
}

TEST_F(TrainerMemoryTest, LastCheckpointOfLbfgs) {
  for (const bool may_interrupt : {false, true}) {
    TrainerOptions options;
    options.checkpoint_directory = scratch_.path(absl::StrCat("lbfgs", may_interrupt));
    if (may_interrupt) options.interrupted = [] { return false; };
    ExpectPlanned(Parsed(Lbfgs("history_size: 15", "steps: 2")), options);
  }
}

// How long the writing of a checkpoint continues beside a step is a matter of time.
TEST_F(TrainerMemoryTest, CheckpointsBesideStepsOfLbfgs) {
  TrainerOptions options;
  options.directory = scratch_.path();
  options.checkpoint_directory = scratch_.path("lbfgs");
  options.interrupted = [] { return false; };
  const auto trainer = testing::RunTrainer(
      Parsed(Lbfgs("history_size: 15", "steps: 4 checkpoint { every_steps: 1 }")), scratch_.path(),
      options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  EXPECT_LE((*trainer)->peak_bytes(), (*trainer)->planned_bytes());
}

TEST_F(TrainerMemoryTest, Precisions) {
  for (const char* more :
       {"precision { autocast: FLOAT16 }", "precision { autocast: FLOAT16 } accumulate: 2",
        "precision { autocast: BFLOAT16 }", "precision { arithmetic: FAST }",
        "precision { autocast: FLOAT16 } clip { global_norm: 1 } non_finite: SKIP"}) {
    ExpectPlanned(Gpt(absl::StrCat("steps: 4 ", more)));
    ExpectPlanned(Lstm(absl::StrCat("steps: 4 ", more)));
  }
}

TEST_F(TrainerMemoryTest, AveragesAndAccumulation) {
  for (const char* more :
       {"average { kind: UNIFORM start: 1 }", "average { decay: 0.9 } accumulate: 3",
        "average { kind: UNIFORM } accumulate: 2 precision { autocast: FLOAT16 }",
        "accumulate: 4 log { gradient_norms: true }", "log { detect_anomaly: true }",
        "log { histogram_steps: 2 tensorboard: true }"}) {
    ExpectPlanned(Gpt(absl::StrCat("steps: 4 ", more)));
    ExpectPlanned(Gpt(absl::StrCat("steps: 4 ", more, " ", kEvaluates)));
  }
}

// Running statistics of uniform averages are computed over the training data.
TEST_F(TrainerMemoryTest, UniformAveragesOfNormalizations) {
  using namespace expr;  // NOLINT
  GraphBuilder builder("cnn");
  const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, 6, 6});
  const auto constant = [&](DimsView dims, const char* name, double deviation) {
    return builder.Constant(testing::Normal(dims, deviation, 3), name);
  };
  Tensor variance(DType::kFloat32, {48});
  std::fill_n(variance.mutable_data<float>(), 48, 1.0f);
  const Expr normal =
      Op("BatchNormalization",
         {Op("Conv", {image, constant({48, 1, 3, 3}, "conv.weight", 0.1)}),
          constant({48}, "bn.weight", 0.5), constant({48}, "bn.bias", 0.1),
          constant({48}, "bn.running_mean", 0.1), builder.Constant(variance, "bn.running_var")});
  builder.Output("logits", Gemm(Op("Flatten", {Relu(normal)}), constant({768, 3}, "fc.weight", 0.1),
                                constant({3}, "fc.bias", 0.1)));
  const auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(ExportFile(*model, scratch_.path() + "/mlp.onnx").ok());
  for (const char* more : {"average { kind: UNIFORM }", "average { decay: 0.9 }", ""}) {
    for (const int workers : {0, 1}) {
      TrainConfig config = Config(absl::StrCat("epochs: 2 ", more));
      config.mutable_data()->set_workers(workers);
      config.mutable_evaluation()->mutable_data()->set_workers(0);
      ExpectPlanned(config);
      config.clear_evaluation();
      const auto trainer = testing::RunTrainer(config, scratch_.path(), {});
      ASSERT_TRUE(trainer.ok()) << trainer.status();
      const auto trained = (*trainer)->TrainedModel();
      EXPECT_TRUE(trained.ok()) << trained.status();
      EXPECT_LE((*trainer)->peak_bytes(), 1.05 * (*trainer)->planned_bytes());
    }
  }
}

TEST_F(TrainerMemoryTest, OptimizersOfManyStates) {
  for (const char* kind : {"sgd", "adam", "adafactor", "rmsprop", "lion", "nadam"}) {
    TrainConfig config = Gpt("steps: 3");
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(absl::StrCat(kind, " { lr: 1e-3 }"),
                                                              config.mutable_optimizer()));
    ExpectPlanned(config);
  }
}

TEST_F(TrainerMemoryTest, Recomputation) {
  ExpectPlanned(Gpt("steps: 3 recompute { segment: \"h.0.*\" segment: \"h.1.*\" }"));
  ExpectPlanned(
      Gpt("steps: 3 accumulate: 2 precision { autocast: FLOAT16 } "
          "recompute { segment: \"h.0.*\" segment: \"h.1.*\" }"));
  ExpectPlanned(Gpt("steps: 3 recompute { segment: \"h.*\" } average { decay: 0.9 }"));
}

// Weights in 16 bits are trained as float32 masters.
TEST_F(TrainerMemoryTest, MasterWeights) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    using namespace expr;  // NOLINT
    GraphBuilder builder("mlp");
    const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, 6, 6});
    const auto weight = [&](DimsView dims, const char* name) {
      Tensor tensor(dtype, dims);
      std::memset(const_cast<void*>(tensor.raw_data()), 0, static_cast<size_t>(tensor.byte_size()));
      return builder.Constant(tensor, name);
    };
    const Expr flat = Cast(Op("Flatten", {image}), dtype);
    const Expr hidden = Relu(Gemm(flat, weight({36, 400}, "a.weight"), weight({400}, "a.bias")));
    const Expr more = Relu(Gemm(hidden, weight({400, 400}, "b.weight"), weight({400}, "b.bias")));
    builder.Output("logits", Gemm(more, weight({400, 3}, "c.weight"), weight({3}, "c.bias")));
    const auto model = builder.Build();
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(ExportFile(*model, scratch_.path() + "/mlp.onnx").ok());
    for (const char* more_config : {"epochs: 1", "epochs: 1 average { decay: 0.9 }",
                                    "epochs: 1 precision { autocast: FLOAT16 }"}) {
      TrainConfig config = Config(more_config);
      config.mutable_data()->set_workers(0);
      config.mutable_evaluation()->mutable_data()->set_workers(0);
      ExpectPlanned(config);
    }
  }
}

}  // namespace
}  // namespace onward::training
