// A tiny CNN through the whole circle: built, exported, imported, differentiated, given an SGD
// step, exported and imported again; then its loss falls.
#include <gtest/gtest.h>

#include <random>

#include "graph/passes/pass.h"
#include "onward/builder.h"
#include "onward/export.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "onward/import.h"
#include "onward/session.h"
#include "training/optimizers/optimizer.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT

constexpr int64_t kBatch = 8, kClasses = 3;

Tensor Normal(DimsView dims, double deviation, unsigned seed) {
  Tensor tensor(DType::kFloat32, dims);
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(0, static_cast<float>(deviation));
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = draw(random);
  return tensor;
}

absl::StatusOr<Model> TinyCnn() {
  GraphBuilder builder("tiny_cnn");
  const Expr image = builder.Input("image", DType::kFloat32, {kBatch, 1, 8, 8});
  const Expr target = builder.Input("target", DType::kFloat32, {kBatch, kClasses});  // one-hot
  const std::vector<int64_t> pads(4, 1), two(2, 2);
  Expr x = Op("Conv",
              {image, builder.Constant(Normal({4, 1, 3, 3}, 0.4, 1), "conv.weight"),
               builder.Constant(Normal({4}, 0.1, 2), "conv.bias")},
              {{"pads", pads}});
  x = Op("MaxPool", {Relu(x)}, {{"kernel_shape", two}, {"strides", two}});
  x = Op("Conv", {x, builder.Constant(Normal({6, 4, 3, 3}, 0.2, 3), "conv2.weight")},
         {{"pads", pads}, {"strides", two}});
  x = Op("Flatten", {Relu(x)});
  const Expr scores = Gemm(x, builder.Constant(Normal({24, kClasses}, 0.2, 4), "fc.weight"),
                           builder.Constant(Normal({kClasses}, 0.1, 5), "fc.bias"));
  builder.Output("scores", scores);
  builder.Output(
      "loss", -(ReduceSum(LogSoftmax(scores) * target, {}, false) / static_cast<double>(kBatch)));
  return builder.Build();
}

absl::StatusOr<Model> ExportAndImport(const Model& model) {
  const absl::StatusOr<std::string> bytes = ExportBytes(model);
  if (!bytes.ok()) return bytes.status();
  return ImportBytes(*bytes);
}

TEST(TinyCnn, LossFallsThroughTheWholeCircle) {
  auto built = TinyCnn();
  ASSERT_TRUE(built.ok()) << built.status();
  auto model = ExportAndImport(*built);
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<ValueId> parameters;
  for (const char* name : {"conv.weight", "conv.bias", "conv2.weight", "fc.weight", "fc.bias"}) {
    parameters.push_back(model->graph.FindValue(name));
    ASSERT_TRUE(parameters.back().valid()) << name;
  }
  const auto gradients = AddGradients(model->graph, model->graph.FindValue("loss"), parameters);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  const ParameterGroup all{"", parameters, *gradients, {}};
  const auto settings = AddOptimizer(*model, {"SGD", {{"lr", 0.3}}, true}, {all});
  ASSERT_TRUE(settings.ok()) << settings.status();
  // The updates survive passes, which make other values the outputs.
  ASSERT_TRUE(RunPasses(*model, PortablePipeline(), {}).ok());
  for (const UpdateBinding& update : model->updates) {
    EXPECT_TRUE(model->graph.is_input(update.input));
    EXPECT_TRUE(model->graph.is_output(update.output));
    EXPECT_EQ(model->graph.value(update.output).name,
              "next/" + model->graph.value(update.input).name);
  }
  auto step = ExportAndImport(*model);
  ASSERT_TRUE(step.ok()) << step.status();
  auto session = Session::Create(std::move(*step));
  ASSERT_TRUE(session.ok()) << session.status();

  // Three kinds of pictures: bright left, bright right, bright top.
  Tensor images = Normal({kBatch, 1, 8, 8}, 0.3, 6), targets(DType::kFloat32, {kBatch, kClasses});
  std::fill_n(targets.mutable_data<float>(), kBatch * kClasses, 0.0f);
  for (int64_t n = 0; n < kBatch; ++n) {
    const int64_t kind = n % kClasses;
    targets.mutable_data<float>()[n * kClasses + kind] = 1;
    for (int64_t i = 0; i < 64; ++i) {
      const bool bright = kind == 0 ? i % 8 < 4 : kind == 1 ? i % 8 >= 4 : i < 32;
      images.mutable_data<float>()[n * 64 + i] += bright ? 1.0f : 0.0f;
    }
  }
  Session::Inputs inputs = {{"image", images}, {"target", targets}};
  std::vector<float> losses;
  for (int i = 0; i < 60; ++i) {
    const auto outputs = (*session)->Run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    losses.push_back(outputs->at("loss").tensor().data<float>()[0]);
    for (const char* name : {"conv.weight", "conv.bias", "conv2.weight", "fc.weight", "fc.bias"}) {
      inputs[name] = outputs->at(std::string("next/") + name);
    }
  }
  EXPECT_GT(losses.front(), 0.9f);
  EXPECT_LT(losses[5], losses[0]);
  EXPECT_LT(losses.back(), 0.05f);
}

}  // namespace
}  // namespace onward::training
