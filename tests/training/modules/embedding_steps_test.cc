// Embeddings with a largest norm are trained as PyTorch trains them (make_embedding_steps.py): an
// optimizer steps from the rows that lookups have scaled, those of every batch of a step.
#include "files/npy.h"
#include "files/safetensors.h"
#include "graph/ir/graph_edit.h"
#include "onward/nn/embedding.h"
#include "onward/training.h"
#include "tests/training/trainer/trainer_fixture.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT: reads as formulas
using ::testing::HasSubstr;

class EmbeddingStepsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto arrays = files::ReadNpz(ONWARD_SOURCE_DIR "/tests/training/modules/embedding_steps.npz");
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    arrays_ = *std::move(arrays);
    files::Safetensors data;
    data.tensors = {{"ids", arrays_.at("ids")}, {"c", arrays_.at("c")}};
    ASSERT_TRUE(files::WriteSafetensors(data, scratch_.path("data")).ok());
    GraphBuilder builder("table");
    nn::Module root(builder);
    const Expr ids = builder.Input("ids", DType::kInt64, {"batch", 2});
    const Expr c = builder.Input("c", DType::kFloat32, {"batch", 2, 3});
    nn::Embedding table(root, "table", 6, 3, {.max_norm = 0.9});
    GraphEdit(builder.graph()).constant(table.weight.id()) = arrays_.at("start");
    const Expr sums = ReduceSum(table(ids) * c, {1, 2}, false);
    builder.Output("loss", ReduceMean(sums, {0}, false));
    auto model = builder.Build();
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(ExportFile(*model, scratch_.path("table.onnx")).ok());
  }

  void Check(const char* name, int accumulate) {
    TrainConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
        absl::StrCat(R"(model: "table.onnx" loss { from_model {} } batch_size: 2 steps: 3
                        optimizer { sgd { lr: 0.3 momentum: 0.9 weight_decay: 0.1 } }
                        data { shuffle: false safetensors { path: "data" } } accumulate: )",
                     accumulate),
        &config));
    TrainerOptions options;
    options.directory = scratch_.path();
    std::vector<float> got;
    Trainer* running = nullptr;
    options.on_step = [&](const StepReport&) {
      const Tensor table = *running->State("table.weight");
      got.insert(got.end(), table.data<float>(), table.data<float>() + table.num_elements());
    };
    auto trainer = Trainer::Create(config, options);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    running = trainer->get();
    ASSERT_TRUE((*trainer)->Run().ok());
    const Tensor& want = arrays_.at(name);
    ASSERT_EQ(static_cast<int64_t>(got.size()), want.num_elements());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want.data<float>()[i], 1e-6) << i;
  }

  testing::ScratchDirectory scratch_;
  std::map<std::string, Tensor> arrays_;
};

TEST_F(EmbeddingStepsTest, OneBatchAStep) { Check("one", 1); }

TEST_F(EmbeddingStepsTest, TwoBatchesAStep) { Check("two", 2); }

TEST(EmbeddingNorm, Refusals) {
  GraphBuilder builder("refused");
  nn::Module root(builder);
  nn::Embedding(root, "table", 6, 3, {.max_norm = -1.0});
  EXPECT_THAT(std::string(builder.Build().status().message()),
              HasSubstr("max_norm is a number of at least 0"));
}

}  // namespace
}  // namespace onward::training
