// Models whose values have the names that training gives to its own.
#include "training/training_names.h"

#include "tests/training/trainer_fixture.h"

namespace onward {
namespace {

using namespace expr;  // NOLINT
using ::testing::HasSubstr;
using testing::kSide;
using testing::Normal;

class TrainingNamesTest : public testing::TrainerTest {
 protected:
  // The fixture's network, whose values are named in turn.
  void Write(const std::string& hidden, const std::string& active, const std::string& logits,
             const std::string& more, const std::string& weight = "fc1.weight",
             const std::string& input = "image") {
    GraphBuilder builder("mlp");
    const Expr image = builder.Input(input, DType::kFloat32, {"batch", 1, kSide, kSide});
    const Expr before =
        Gemm(Op("Flatten", {image}), builder.Constant(Normal({36, 8}, 0.2, 1), weight),
             builder.Constant(Normal({8}, 0.1, 2), "fc1.bias"));
    const Expr after = Relu(before);
    builder.Output(logits, Gemm(after, builder.Constant(Normal({8, 3}, 0.3, 3), "fc2.weight"),
                                builder.Constant(Normal({3}, 0.1, 4), "fc2.bias")));
    builder.Output(more, Shape(after));
    absl::StatusOr<Model> model = builder.Build();
    ASSERT_TRUE(model.ok()) << model.status();
    model->graph.Rename(before.id(), hidden);
    model->graph.Rename(after.id(), active);
    ASSERT_TRUE(ExportFile(*model, scratch_.path() + "/mlp.onnx").ok());
  }

  TrainConfig Detailed(const std::string& output) {
    TrainConfig config = Config(
        "epochs: 2 average { decay: 0.5 } clip { global_norm: 1 } log { gradient_norms: true }");
    config.mutable_loss()->set_output(output);
    return config;
  }
};

TEST_F(TrainingNamesTest, ValuesOfTheModelStandAside) {
  const auto plain = Train(Detailed("logits"));
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto expected = Weights(**plain, "fc1.weight");
  const char* const kNames[][4] = {
      {"loss", "average/weight", "prediction", "gradient_norm"},
      {"optimizer/step", "next/fc1.weight", "loss", "prediction"},
      {"average/fc1.weight", "loss", "gradient_norm", "gradients_finite"},
      {"scaler/scale", "gradient_norm/fc1.bias", "logits", "loss"},
  };
  for (const auto& names : kNames) {
    SCOPED_TRACE(names[0]);
    Write(names[0], names[1], names[2], names[3]);
    const auto trainer = Train(Detailed(names[2]));
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_EQ(Weights(**trainer, "fc1.weight"), expected);
    const auto evaluation = (*trainer)->Evaluate();
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_EQ(evaluation->loss, (*plain)->Evaluate()->loss);
    // The trained model has its own names.
    const auto model = (*trainer)->TrainedModel();
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->graph.value(model->graph.outputs()[0]).name, names[2]);
    EXPECT_EQ(model->graph.value(model->graph.outputs()[1]).name, names[3]);
  }
}

TEST_F(TrainingNamesTest, NamesThatUsersWriteAreRefused) {
  Write("a", "b", "logits", "c", "loss");
  EXPECT_THAT(Error(Detailed("logits")),
              HasSubstr("the model's initializer 'loss' has the name of a value that training "
                        "adds; rename it in the model"));
  Write("a", "b", "logits", "c", "fc1.weight", "prediction");
  EXPECT_THAT(Error(Detailed("logits")), HasSubstr("the model's input 'prediction' has the name"));
  TrainConfig config = Config("steps: 1");
  config.mutable_loss()->set_target("loss");
  Write("a", "b", "logits", "c");
  config.mutable_loss()->set_output("logits");
  EXPECT_THAT(Error(config), HasSubstr("loss.target: 'loss' is the name of a value"));
}

}  // namespace
}  // namespace onward
