// Models whose values have the names that training gives to its own.
#include "training/rewrite/training_names.h"

#include <set>

#include "files/safetensors.h"
#include "graph/ir/graph_edit.h"
#include "graph/ir/print.h"
#include "graph/ops/onward_schemas.h"
#include "tests/training/trainer/trainer_fixture.h"
#include "training/trainer/checkpoint_model.h"

namespace onward::training {
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
    GraphEdit(model->graph).Rename(before.id(), hidden);
    GraphEdit(model->graph).Rename(after.id(), active);
    ASSERT_TRUE(ExportFile(*model, scratch_.path() + "/mlp.onnx").ok());
  }

  TrainConfig Detailed(const std::string& output) {
    TrainConfig config = Config(
        "epochs: 2 average { decay: 0.5 } clip { global_norm: 1 } log { gradient_norms: true }");
    config.mutable_loss()->set_output(output);
    return config;
  }

  // The constant called `name` is {1, 2, 3}.
  static void ExpectFactor(const absl::StatusOr<Model>& model, const std::string& name) {
    ASSERT_TRUE(model.ok()) << model.status();
    const ValueId id = model->graph.FindValue(name);
    ASSERT_TRUE(id.valid()) << Print(model->graph);
    const std::optional<Tensor>& kept = model->graph.value(id).constant;
    ASSERT_TRUE(kept.has_value());
    ASSERT_EQ(kept->dtype(), DType::kFloat32);
    EXPECT_EQ(kept->span<float>(), absl::MakeConstSpan({1.0f, 2.0f, 3.0f}));
  }
};

TEST_F(TrainingNamesTest, ValuesOfTheModelStandAside) {
  const auto plain = Train(Detailed("logits"));
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto expected = Weights(**plain, "fc1.weight");
  const std::set<std::string> parameters((*plain)->parameters().begin(),
                                         (*plain)->parameters().end());
  const char* const kNames[][4] = {
      {"loss", "averaging/weight", "prediction", "gradient_norm"},
      {"optimizer/step", "next/fc1.weight", "loss", "prediction"},
      {"average/fc1.weight", "loss", "gradient_norm", "gradients_finite"},
      {"scaler/scale", "gradient_norm/fc1.bias", "logits", "loss"},
  };
  for (const auto& names : kNames) {
    SCOPED_TRACE(names[0]);
    Write(names[0], names[1], names[2], names[3]);
    // An output of the model is not the norm of a parameter, whatever its name is.
    std::set<std::string> norms;
    TrainerOptions options;
    options.on_step = [&](const StepReport& report) {
      for (const auto& [name, norm] : report.gradient_norms) norms.insert(name);
    };
    const auto trainer = Train(Detailed(names[2]), options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_THAT(norms, ::testing::ElementsAreArray(parameters));
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

// Training names values after the weights: "average/weight" of a weight "weight".
TEST_F(TrainingNamesTest, WeightsOfShortNames) {
  const auto config = [&](const std::string& more) {
    TrainConfig made = Detailed("logits");
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(more, &made));
    return made;
  };
  for (const std::string more : {"", "accumulate: 2", "precision { autocast: FLOAT16 }"}) {
    SCOPED_TRACE(more);
    Write("a", "b", "logits", "c");
    const auto plain = Train(config(more));
    ASSERT_TRUE(plain.ok()) << plain.status();
    for (const std::string weight :
         {"weight", "step", "count", "reference", "scale", "share", "settings", "lr"}) {
      SCOPED_TRACE(weight);
      Write("a", "b", "logits", "c", weight);
      const auto trainer = Train(config(more));
      ASSERT_TRUE(trainer.ok()) << trainer.status();
      for (const std::string prefix : {"", "average/"})
        EXPECT_EQ(Weights(**trainer, prefix + weight), Weights(**plain, prefix + "fc1.weight"));
    }
  }
}

TEST_F(TrainingNamesTest, NamesOfWeightsAreRefused) {
  Write("a", "b", "logits", "c", "loss");
  EXPECT_THAT(Error(Detailed("logits")),
              HasSubstr("the model's initializer 'loss' has the name of a value that training "
                        "adds; rename it in the model"));
}

// An initializer that is called like what training makes of another one.
TEST_F(TrainingNamesTest, NamesMadeOfWeightsAreRefused) {
  for (const std::string name :
       {"average/fc2.weight", "gradient/fc2.weight", "gradient_norm/fc2.weight", "next/fc2.weight",
        "optimizer/fc2.weight/momentum"}) {
    SCOPED_TRACE(name);
    Write("a", "b", "logits", "c", name);
    EXPECT_THAT(Error(Detailed("logits")),
                HasSubstr(absl::StrCat("the model's initializer '", name,
                                       "' has the name of a value that training adds")));
  }
  Write("a", "b", "logits", "c", "average/of.another");
  EXPECT_EQ(Error(Detailed("logits")), "OK");
}

// They are neither weights nor what training adds.
TEST_F(TrainingNamesTest, ConstantsOfTheModelKeepTheirValues) {
  for (const std::string name : {"optimizer/step", "average/fc1.weight", "batch/share"}) {
    SCOPED_TRACE(name);
    GraphBuilder builder("mlp");
    const Expr image = builder.Input("image", DType::kFloat32, {"batch", 1, kSide, kSide});
    const Expr hidden =
        Gemm(Op("Flatten", {image}), builder.Constant(Normal({36, 3}, 0.2, 1), "fc1.weight"));
    builder.Output("logits", hidden * builder.Input("factor", DType::kFloat32, {3}));
    absl::StatusOr<Model> model = builder.Build();
    ASSERT_TRUE(model.ok()) << model.status();
    Node node;
    node.op_type = "Constant";
    node.schema = FindSchema(node.op_type, "");
    node.attributes.Set("value", Attribute(Tensor::Of<float>({3}, {1, 2, 3})));
    GraphEdit edit(model->graph);
    const ValueId stand_in = model->graph.FindValue("factor");
    const ValueId constant = edit.AddValue(name, model->graph.type(stand_in));
    node.outputs = {constant};
    edit.AddNode(std::move(node));
    edit.ReplaceUses(stand_in, constant);
    edit.RemoveInput(stand_in);
    ASSERT_TRUE(ExportFile(*model, scratch_.path("mlp.onnx")).ok());
    TrainerOptions options;
    options.checkpoint_directory = scratch_.path(absl::StrCat("checkpoints_", name.size()));
    const auto trainer = Train(Detailed("logits"), options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_THAT((*trainer)->parameters(), ::testing::ElementsAre("fc1.weight"));
    ExpectFactor((*trainer)->TrainedModel(), name);
    const auto last =
        ChooseCheckpoint({options.checkpoint_directory}, {CheckpointChoice::kLast}, false);
    ASSERT_TRUE(last.ok()) << last.status();
    ExpectFactor(ModelOfCheckpoint(Detailed("logits"), scratch_.path(), *last), name);
  }
}

// Of inputs and of fields of the data: users continue writing them.
TEST_F(TrainingNamesTest, InputsAndFieldsKeepTheirNames) {
  const auto plain = Train(Detailed("logits"));
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto expected = Weights(**plain, "fc1.weight");
  const auto evaluation = (*plain)->Evaluate();
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  for (const std::string name : {"prediction", "loss", "optimizer/step", "averaging/weight"}) {
    SCOPED_TRACE(name);
    Write("a", "b", "logits", "c", "fc1.weight", name);
    TrainConfig config = Detailed("logits");
    EXPECT_THAT(Error(config), HasSubstr(absl::StrCat("nothing feeds the model's input '", name,
                                                      "' (float32[batch,1,6,6])")));
    for (DataConfig* data : {config.mutable_data(), config.mutable_evaluation()->mutable_data()})
      (*data->mutable_inputs())[name] = "image";
    const auto trainer = Train(config);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_EQ(Weights(**trainer, "fc1.weight"), expected);
    EXPECT_EQ((*trainer)->Evaluate()->loss, evaluation->loss);
    EXPECT_EQ((*trainer)->Evaluate()->right, evaluation->right);
    const auto model = (*trainer)->TrainedModel();
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->graph.value(model->graph.inputs()[0]).name, name);
  }
  // A target: of a column, say, that is called so.
  Write("a", "loss", "logits", "c");
  files::Safetensors data;
  data.tensors["image"] = Normal({12, 1, kSide, kSide}, 1, 5);
  for (const char* name : {"loss", "label", "fc2.bias"})
    data.tensors[name] = Tensor::Of<int64_t>({12}, {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  std::vector<double> rights, losses;
  for (const char* target : {"label", "loss", "fc2.bias"}) {
    files::Safetensors fields;
    for (const char* name : {"image", target}) fields.tensors[name] = data.tensors.at(name);
    ASSERT_TRUE(files::WriteSafetensors(fields, scratch_.path("data.safetensors")).ok());
    TrainConfig config = Detailed("logits");
    for (DataConfig* each : {config.mutable_data(), config.mutable_evaluation()->mutable_data()}) {
      each->clear_mnist();
      each->mutable_safetensors()->add_path("data.safetensors");
    }
    config.mutable_loss()->set_target(target);
    config.mutable_evaluation()->set_metric("accuracy");
    config.set_batch_size(4);
    const auto trainer = Train(config);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_EQ((*trainer)->parameters().size(), 4u);
    losses.push_back((*trainer)->Evaluate()->loss);
    EXPECT_EQ((*trainer)->Evaluate()->targets, 12);
    rights.push_back(*(*trainer)->Evaluate()->accuracy());
  }
  EXPECT_THAT(losses, ::testing::Each(losses[0]));
  EXPECT_THAT(rights, ::testing::Each(rights[0]));
}

// Names that training gives to state and outputs of weights, in any of its graphs.
TEST_F(TrainingNamesTest, InputsNamedLikeWhatTrainingAddsForAWeight) {
  const std::string more = "accumulate: 2 log { tensorboard: true histogram_steps: 1 }";
  const auto configured = [&] {
    TrainConfig config = Detailed("logits");
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(more, &config));
    config.mutable_optimizer()->mutable_adam()->set_lr(0.01);
    return config;
  };
  const auto plain = Train(configured());
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto expected = Weights(**plain, "fc1.weight");
  for (const std::string name :
       {"optimizer/settings", "optimizer/fc1.weight/exp_avg", "average/fc1.weight",
        "gradient/fc1.weight", "gradient_norm/fc1.weight", "gradient_value/fc1.weight",
        "next/fc1.weight", "accumulate/count", "batch/share"}) {
    SCOPED_TRACE(name);
    Write("a", "b", "logits", "c", "fc1.weight", name);
    TrainConfig config = configured();
    for (DataConfig* data : {config.mutable_data(), config.mutable_evaluation()->mutable_data()})
      (*data->mutable_inputs())[name] = "image";
    const auto trainer = Train(config);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_EQ(Weights(**trainer, "fc1.weight"), expected);
    const auto evaluation = (*trainer)->Evaluate();
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_EQ(evaluation->loss, (*plain)->Evaluate()->loss);
    const auto model = (*trainer)->TrainedModel();
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->graph.value(model->graph.inputs()[0]).name, name);
  }
}

// A field of the data feeds no setting of the optimizer.
TEST_F(TrainingNamesTest, AFieldNamedLikeASettingFeedsNothing) {
  files::Safetensors data;
  data.tensors["image"] = Normal({12, 1, kSide, kSide}, 1, 5);
  data.tensors["label"] = Tensor::Of<int64_t>({12}, {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  std::vector<std::vector<float>> weights;
  for (const char* extra : {"unused", "optimizer/settings"}) {
    // A batch of it has the shape of the settings of SGD.
    data.tensors[extra] = Tensor::Of<double>({12}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    ASSERT_TRUE(files::WriteSafetensors(data, scratch_.path("data.safetensors")).ok());
    data.tensors.erase(extra);
    TrainConfig config = Config("epochs: 2");
    for (DataConfig* each : {config.mutable_data(), config.mutable_evaluation()->mutable_data()}) {
      each->clear_mnist();
      each->mutable_safetensors()->add_path("data.safetensors");
    }
    config.set_batch_size(4);
    const auto trainer = Train(config);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    weights.push_back(Weights(**trainer, "fc2.bias"));
  }
  EXPECT_EQ(weights[0], weights[1]);
}

// A field that nobody asks for is not fed to the weight that has its name.
TEST_F(TrainingNamesTest, AFieldNamedLikeAWeightFeedsNothing) {
  files::Safetensors data;
  data.tensors["image"] = Normal({12, 1, kSide, kSide}, 1, 5);
  data.tensors["label"] = Tensor::Of<int64_t>({12}, {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  std::vector<std::vector<float>> weights;
  for (const char* extra : {"unused", "fc2.bias"}) {
    // A batch of it has the shape of the bias.
    data.tensors[extra] = Normal({12}, 1, 6);
    ASSERT_TRUE(files::WriteSafetensors(data, scratch_.path("data.safetensors")).ok());
    data.tensors.erase(extra);
    TrainConfig config = Config("epochs: 2");
    for (DataConfig* each : {config.mutable_data(), config.mutable_evaluation()->mutable_data()}) {
      each->clear_mnist();
      each->mutable_safetensors()->add_path("data.safetensors");
    }
    config.set_batch_size(3);
    const auto trainer = Train(config);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    weights.push_back(Weights(**trainer, "fc2.bias"));
    EXPECT_TRUE((*trainer)->Evaluate().ok());
  }
  EXPECT_EQ(weights[0], weights[1]);
}

// An output that has the name of the target is called by it in messages.
TEST_F(TrainingNamesTest, AnOutputNamedLikeTheTarget) {
  for (const char* shape : {"batch", "N"}) {
    GraphBuilder builder("line");
    const Expr x = builder.Input("x", DType::kFloat32, {shape, 2});
    builder.Output("y", MatMul(x, builder.Constant(Normal({2, 1}, 1, 4), "weight")));
    ASSERT_TRUE(ExportFile(*builder.Build(), scratch_.path("mlp.onnx")).ok());
    files::Safetensors data;
    data.tensors["x"] = Normal({8, 2}, 1, 5);
    data.tensors["y"] = Normal({8}, 1, 6);
    ASSERT_TRUE(files::WriteSafetensors(data, scratch_.path("data.safetensors")).ok());
    TrainConfig config = Config("steps: 1");
    config.clear_evaluation();
    config.mutable_data()->clear_mnist();
    config.mutable_data()->mutable_safetensors()->add_path("data.safetensors");
    config.mutable_loss()->mutable_mse();
    config.set_batch_size(4);
    config.mutable_loss()->set_target("y");
    EXPECT_THAT(Error(config), HasSubstr(absl::StrCat("the target 'y' has the shape [", shape,
                                                      "], output 'y' has [", shape, ",1]")));
    data.tensors["y"] = Normal({8, 1}, 1, 6);
    ASSERT_TRUE(files::WriteSafetensors(data, scratch_.path("data.safetensors")).ok());
    EXPECT_EQ(Error(config), "OK");
  }
}

}  // namespace
}  // namespace onward::training
