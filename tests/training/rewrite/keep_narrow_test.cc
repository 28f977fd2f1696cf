// Activations that the model has in 16 bits are kept so for the backward pass.
#include "training/rewrite/keep_narrow.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "graph/passes/passes.h"
#include "gtest/gtest.h"
#include "onward/models.h"
#include "tests/support/text_model.h"
#include "training/rewrite/loss_scale.h"
#include "training/rewrite/recompute.h"
#include "training/step/make_phases.h"
#include "training/step/training_session.h"

namespace onward::training {
namespace {

absl::StatusOr<int> Keep(Graph& graph, const PassOptions&, int& budget) {
  return KeepNarrow(graph, graph.FindValue("loss"), budget);
}

std::string Kept(const std::string& text) {
  return testing::Nodes(testing::Optimize(text,
                                          {{"widen_floats", WidenFloats},
                                           {"eliminate_dead", EliminateDead},
                                           {"eliminate_identity", EliminateIdentity},
                                           {"keep_narrow", Keep}},
                                          4e-2));
}

TEST(KeepNarrow, ForwardGoesOnInFloat32) {
  EXPECT_EQ(Kept("g (float[N] x, float[N] dy) => (float loss, float[N] dx) {"
                 "h = Cast <to = 16> (x) y = Tanh(h) z = Cast <to = 1> (y)"
                 "loss = ReduceSum <keepdims = 0> (z) dx = onward.ReluGradient(z, dy)}"),
            "y_float32 = Tanh(x)\n"
            "y_float32/kept = Cast(y_float32)\n"
            "dx = onward.ReluGradient(y_float32/kept, dy)\n"
            "y_float32/kept/After = onward.After(y_float32, y_float32/kept)\n"
            "loss = ReduceSum(y_float32/kept/After)\n");
}

TEST(KeepNarrow, WhatIsReadInFloat32StaysSo) {
  // By an op that takes no narrow input; of a model in float32; by its output.
  EXPECT_EQ(Kept("g (float[N] x, float[N] dy) => (float loss, float[N] dx, float[N] d) {"
                 "h = Cast <to = 16> (x) y = Tanh(h) z = Cast <to = 1> (y)"
                 "loss = ReduceSum <keepdims = 0> (z) dx = onward.ReluGradient(z, dy)"
                 "d = Mul(z, dy)}"),
            "y_float32 = Tanh(x)\n"
            "loss = ReduceSum(y_float32)\n"
            "dx = onward.ReluGradient(y_float32, dy)\n"
            "d = Mul(y_float32, dy)\n");
  EXPECT_EQ(Kept("g (float[N] x, float[N] dy) => (float loss, float[N] dx) {"
                 "y = Tanh(x) loss = ReduceSum <keepdims = 0> (y)"
                 "dx = onward.ReluGradient(y, dy)}"),
            "y = Tanh(x)\n"
            "loss = ReduceSum(y)\n"
            "dx = onward.ReluGradient(y, dy)\n");
}

struct Trained {
  int64_t planned = 0;
  std::vector<float> losses;
  std::map<std::string, Tensor> state;
};

// A ResNet after four steps.
absl::StatusOr<Trained> Train(const std::string& precision, int segments = 0) {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat(R"(model: "" loss { cross_entropy {} } data {} steps: 1
                      optimizer { sgd { lr: 0.01 } } )",
                   precision),
      &config));
  auto built = BuildModel("resnet_cifar", {{"blocks", 3}});
  if (!built.ok()) return built.status();
  TrainableModel model;
  model.model = *std::move(built);
  const Graph& graph = model.model.graph;
  for (int i = 0; i < graph.num_values(); ++i)
    if (graph.is_constant({i})) model.initializers.push_back(graph.value({i}).name);
  const std::string input = graph.value(graph.inputs()[0]).name;
  auto phases = MakeTrainingPhases(model, config, {{"label", Type::Tensor(DType::kInt64, Dims{})}});
  if (!phases.ok()) return phases.status();
  SessionOptions options;
  options.num_threads = 2;
  options.precision = SessionPrecision(config);
  std::vector<Pass> late;
  if (segments > 1) late.push_back(RecomputePass(*phases->graphs[0].outputs.loss, {}, segments));
  auto session = TrainingSession::Create(std::move(phases->graphs[0]), options, late);
  if (!session.ok()) return session.status();
  Tensor images(DType::kFloat32, {16, 3, 32, 32}), labels(DType::kInt64, {16});
  for (int64_t i = 0; i < images.num_elements(); ++i)
    images.mutable_data<float>()[i] = std::sin(static_cast<float>(i) * 0.37f);
  for (int64_t i = 0; i < 16; ++i) labels.mutable_data<int64_t>()[i] = i % 10;
  const Session::Inputs batch = {{input, images}, {"label", labels}};
  Trained trained;
  const auto planned = (*session)->PlannedBytes(batch);
  if (!planned.ok()) return planned.status();
  trained.planned = *planned;
  for (int step = 0; step < 4; ++step) {
    const auto outputs = (*session)->Step(batch);
    if (!outputs.ok()) return outputs.status();
    trained.losses.push_back(outputs->at("loss").tensor().data<float>()[0]);
  }
  for (const std::string& name : (*session)->state_names())
    trained.state[name] = *(*session)->State(name);
  return trained;
}

TEST(KeepNarrow, TrainsAsFloat32InLessMemory) {
  const auto wide = Train("");
  ASSERT_TRUE(wide.ok()) << wide.status();
  for (const std::string dtype : {"BFLOAT16", "FLOAT16"}) {
    SCOPED_TRACE(dtype);
    const auto narrow = Train(absl::StrCat("precision { autocast: ", dtype, " }"));
    ASSERT_TRUE(narrow.ok()) << narrow.status();
    EXPECT_LT(narrow->planned, wide->planned * 8 / 10);
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(narrow->losses[i], wide->losses[i], 0.02 * wide->losses[i]) << "step " << i;
  }
}

TEST(KeepNarrow, WhatIsComputedAgainIsRoundedToo) {
  const std::string precision = "precision { autocast: BFLOAT16 }";
  const auto whole = Train(precision);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const auto again = Train(precision, 4);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_LT(again->planned, whole->planned);
  ASSERT_EQ(whole->state.size(), again->state.size());
  for (const auto& [name, tensor] : whole->state) {
    const Tensor& other = again->state.at(name);
    EXPECT_EQ(
        std::memcmp(tensor.raw_data(), other.raw_data(), static_cast<size_t>(tensor.byte_size())),
        0)
        << name;
  }
}

}  // namespace
}  // namespace onward::training
