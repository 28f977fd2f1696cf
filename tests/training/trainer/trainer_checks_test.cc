// Configurations made in C++, evaluations and data that do not fit: refused before the first step.
#include "onward/training.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Normal;
using ::testing::Not;
using testing::TrainerTest;

TEST_F(TrainerTest, ConfigurationsMadeInCppAreChecked) {
  const std::pair<const char*, const char*> cases[] = {
      {"steps: 1 average { every: 0 }",
       "the configuration: average.every must be at least 1, got 0"},
      {"steps: 1 checkpoint { every_steps: 0 }",
       "checkpoint.every_steps must be at least 1, got 0"},
      {"steps: 1 log { every_steps: 0 }", "log.every_steps must be at least 1, got 0"},
      {"steps: 1 accumulate: 0", "accumulate must be at least 1, got 0"},
      {"steps: 1 schedule { step { step_size: 0 } }",
       "schedule.step.step_size must be at least 1, got 0"},
      {"", "epochs needs epochs or steps, one of the two"},
      {"steps: 2 epochs: 2", "epochs needs epochs or steps, one of the two"},
      {"steps: 1 accumulate: 2 export { training_step: true }",
       "export.training_step needs a step that is one graph: set accumulate to 1"}};
  for (const auto& [more, why] : cases) EXPECT_THAT(Error(Config(more)), HasSubstr(why)) << more;
  TrainConfig config = Config("steps: 1");
  config.mutable_evaluation()->set_every_steps(0);
  EXPECT_THAT(Error(config), HasSubstr("evaluation.every_steps must be at least 1, got 0"));
  config = Config("steps: 1");
  config.clear_loss();
  EXPECT_THAT(Error(config), HasSubstr("the configuration: loss is missing"));
  EXPECT_THAT(Error(TrainConfig()), HasSubstr("is missing"));
  config = Config("steps: 1");
  config.clear_model();
  EXPECT_THAT(Error(config), HasSubstr("model is missing: name an ONNX file"));
}

// A training of rows of numbers; `rows` of the evaluation too unless `evaluated` has its own.
class RowsTest : public TrainerTest {
 protected:
  void SetUp() override {
    TrainerTest::SetUp();
    GraphBuilder builder("rows");
    const Expr x = builder.Input("x", DType::kFloat32, {"batch", 2});
    builder.Output("scores", Gemm(x, builder.Constant(Normal({2, 3}, 0.3, 3), "fc.weight"),
                                  builder.Constant(Normal({3}, 0.1, 4), "fc.bias")));
    ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/rows.onnx").ok());
  }
  static std::string Csv(const std::string& file, const std::string& label = "element: INT64") {
    return absl::StrCat("csv { path: \"", file, R"(" field { name: "x" column: "a" column: "b" }
        field { name: "label" )",
                        label, " } }");
  }
  TrainConfig Rows(const std::string& rows, const std::string& more = "",
                   const std::string& evaluated = "", const std::string& label = "element: INT64") {
    scratch_.Write("rows.csv", "a,b,label\n" + rows);
    scratch_.Write("evaluated.csv", "a,b,label\n" + (evaluated.empty() ? rows : evaluated));
    TrainConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
        absl::StrCat(R"(model: "rows.onnx" loss { cross_entropy {} } batch_size: 2
            optimizer { sgd { lr: 0.1 } } data { shuffle: false )",
                     Csv("rows.csv", label), "} evaluation { data { ", Csv("evaluated.csv", label),
                     "} } ", more),
        &config));
    return config;
  }
  // The error of a training, and whether it made a step before.
  std::string ErrorWithoutStep(const TrainConfig& config) {
    TrainerOptions options;
    bool stepped = false;
    options.on_step = [&](const StepReport&) { stepped = true; };
    const auto trainer = Train(config, options);
    EXPECT_FALSE(stepped);
    return trainer.ok() ? "OK" : std::string(trainer.status().message());
  }
  std::string Warnings(const TrainConfig& config) {
    std::string warnings;
    TrainerOptions options;
    options.log = [&](const LogRecord& record) { warnings += record.message + "\n"; };
    const auto trainer = Train(config, options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return warnings;
  }
};

constexpr char kRows[] = "1,2,0\n3,4,1\n5,6,2\n7,8,0\n";

TEST_F(RowsTest, AMetricThatDoesNotFitIsRefusedBeforeTheFirstStep) {
  TrainConfig config = Rows(kRows, "epochs: 2");
  config.mutable_evaluation()->set_metric("accuracy");
  EXPECT_EQ(Error(config), "OK");
  config.mutable_loss()->mutable_mse();
  EXPECT_THAT(ErrorWithoutStep(config),
              HasSubstr("evaluation.metric accuracy needs a loss of classes (cross_entropy, "
                        "multi_margin, nll), bce or bce_with_logits, not 'mse'"));
  // Probabilities as targets.
  config = Rows("1,2,0\n3,4,1\n", "epochs: 2", "", R"(column: "a" column: "b" column: "label")");
  config.mutable_evaluation()->set_metric("accuracy");
  EXPECT_THAT(ErrorWithoutStep(config),
              HasSubstr("evaluation.metric: accuracy counts targets that are classes; 'label' is "
                        "float32[batch,3]"));
}

TEST_F(RowsTest, EvaluationDataThatDoNotFitAreRefusedBeforeTheFirstStep) {
  TrainConfig config = Rows(kRows, "epochs: 2");
  config.mutable_evaluation()->mutable_data()->mutable_csv()->mutable_field(0)->set_name("y");
  EXPECT_THAT(ErrorWithoutStep(config),
              AllOf(HasSubstr("evaluation: "), HasSubstr("nothing feeds the model's input 'x'")));
  config = Rows(kRows, "epochs: 2");
  config.mutable_evaluation()->mutable_data()->mutable_csv()->mutable_field(0)->add_column("label");
  EXPECT_THAT(ErrorWithoutStep(config),
              AllOf(HasSubstr("evaluation.data: "), HasSubstr("got float32[2,3]")));
}

// Keras's classifiers end in a Softmax: the scores before it are trained, as if it was not there.
TEST_F(RowsTest, ScoresBeforeASoftmax) {
  GraphBuilder builder("probabilities");
  const Expr x = builder.Input("x", DType::kFloat32, {"batch", 2});
  const Expr scores = Gemm(x, builder.Constant(Normal({2, 3}, 0.3, 3), "fc.weight"),
                           builder.Constant(Normal({3}, 0.1, 4), "fc.bias"));
  builder.Output("probabilities", Softmax(scores, -1));
  Model model = *builder.Build();
  const std::string inner = model.graph.value(scores.id()).name;
  ASSERT_TRUE(ExportFile(model, scratch_.path() + "/probabilities.onnx").ok());
  const auto losses_of = [&](const TrainConfig& config) {
    std::vector<double> losses;
    TrainerOptions options;
    options.on_step = [&](const StepReport& report) { losses.push_back(report.loss); };
    const auto trainer = Train(config, options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return losses;
  };
  const std::vector<double> expected = losses_of(Rows(kRows, "epochs: 3"));
  EXPECT_EQ(expected.size(), 6u);
  TrainConfig config = Rows(kRows, "epochs: 3");
  config.set_model("probabilities.onnx");
  EXPECT_THAT(Warnings(config),
              HasSubstr(absl::StrCat("loss: cross_entropy takes scores, and 'probabilities' is the "
                                     "Softmax of them, which would be taken twice; name the "
                                     "scores: loss { output: \"",
                                     inner, "\" }")));
  config.mutable_loss()->set_output(inner);
  EXPECT_EQ(Warnings(config), "");
  EXPECT_EQ(losses_of(config), expected);
}

TEST_F(RowsTest, DataThatAreNotFiniteAreNamed) {
  const std::string rows = "1,2,0\n3,4,1\n5,nan,2\n7,8,0\n";
  EXPECT_THAT(Error(Rows(rows, "epochs: 1")),
              AllOf(HasSubstr("the loss of step 2 is nan: the data are not finite, 'x' of '"),
                    HasSubstr("rows.csv' line 4 is nan, at element 1 of 2")));
  EXPECT_THAT(
      Error(Rows(rows, "epochs: 1 log { detect_anomaly: true }")),
      AllOf(HasSubstr("log.detect_anomaly: step 2: the data are not finite already: 'x' of"),
            HasSubstr("line 4 is nan")));
  EXPECT_THAT(Warnings(Rows(rows, "epochs: 3 non_finite: SKIP", kRows)),
              AllOf(HasSubstr("step 2 is skipped: the data are not finite, 'x' of"),
                    Not(HasSubstr("step 4"))));
  EXPECT_THAT(Warnings(Rows(kRows, "epochs: 1", rows)),
              AllOf(HasSubstr("evaluation.data: the data are not finite, 'x' of"),
                    HasSubstr("evaluated.csv' line 4 is nan")));
}

TEST_F(RowsTest, FieldsWithoutEffectOnTheModel) {
  EXPECT_THAT(Error(Rows(kRows, "steps: 1 inference_mode: \"dropout*\"")),
              HasSubstr("inference_mode: no node of the model matches 'dropout*'"));
  EXPECT_EQ(Error(Rows(kRows, "steps: 1 inference_mode: \"*\"")), "OK");
  TrainConfig config = Rows(kRows, "steps: 1");
  config.mutable_optimizer()->add_group()->set_least_rank(2);
  config.mutable_optimizer()->add_group()->set_least_rank(3);
  EXPECT_THAT(Warnings(config), AllOf(HasSubstr("optimizer.group[1] is empty"),
                                      Not(HasSubstr("optimizer.group[0]"))));
}

TEST_F(RowsTest, ExamplesOfDifferentSizesAreNamed) {
  scratch_.Write("sizes.jsonl",
                 "{\"x\": [1, 2], \"label\": 0}\n{\"x\": [1, 2], \"label\": 1}\n"
                 "{\"x\": [1, 2, 3], \"label\": 1}\n{\"x\": [1, 2], \"label\": 1}\n");
  TrainConfig config = Rows(kRows, "epochs: 1 batch_size: 4");
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(shuffle: false jsonl { path: "sizes.jsonl" field { name: "x" dim: -1 }
                                field { name: "label" element: INT64 } })",
      config.mutable_data()));
  EXPECT_THAT(
      Error(config),
      AllOf(HasSubstr("field 'x' of '"), HasSubstr("sizes.jsonl' line 1 and '"),
            HasSubstr("sizes.jsonl' line 3: examples of [2] and [3] cannot form a batch: data.pad "
                      "pads them, and a step of images (resize, center_crop)")));
}

TEST_F(RowsTest, AnomaliesNameTheStep) {
  TrainConfig far = Config("steps: 40 log { detect_anomaly: true }");
  far.mutable_optimizer()->mutable_sgd()->set_lr(1e30);
  EXPECT_THAT(Error(far), ::testing::ContainsRegex("step [0-9]+: .*is the first value"));
  // Weights that are not finite before anything ran.
  GraphBuilder builder("rows");
  const Expr x = builder.Input("x", DType::kFloat32, {"batch", 2});
  Tensor weight = Normal({2, 3}, 0.3, 3);
  weight.mutable_data<float>()[4] = std::nanf("");
  builder.Output("scores", Gemm(x, builder.Constant(weight, "fc.weight")));
  ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path() + "/rows.onnx").ok());
  const TrainConfig config = Rows(kRows, "steps: 40 log { detect_anomaly: true }");
  EXPECT_THAT(Error(config), HasSubstr("before the first step: log.detect_anomaly: 'fc.weight' is "
                                       "the first value that is not finite, at 4 of 6"));
}

}  // namespace
}  // namespace onward::training
