// A wrong rewrite of a training is found by bisection: the first so many are made, the rest is not.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "onward/models.h"
#include "training/rewrite/loss_scale.h"
#include "training/rewrite/recompute.h"
#include "training/step/make_phases.h"
#include "training/step/training_session.h"

namespace onward::training {
namespace {

struct Trained {
  int patches = 0;  // before the sessions and in them
  int lowered = 0;  // of them, by mixed precision
  int copied = 0;   // nodes that are computed again
  float loss = 0;   // of the second step
};

// A small convolutional net in bfloat16, parts of which are computed again.
absl::StatusOr<Trained> Train(int stop_after_patches) {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(model: "" loss { cross_entropy {} } data {} steps: 1 optimizer { sgd { lr: 0.01 } }
         precision { autocast: BFLOAT16 } )",
      &config));
  auto built = BuildModel("resnet_cifar", {{"blocks", 1}});
  if (!built.ok()) return built.status();
  TrainableModel model;
  model.model = *std::move(built);
  const Graph& graph = model.model.graph;
  for (int i = 0; i < graph.num_values(); ++i)
    if (graph.is_constant({i})) model.initializers.push_back(graph.value({i}).name);
  const std::string input = graph.value(graph.inputs()[0]).name;
  auto phases = MakeTrainingPhases(model, config, {{"label", Type::Tensor(DType::kInt64, Dims{})}},
                                   {.stop_after_patches = stop_after_patches});
  if (!phases.ok()) return phases.status();
  Trained trained;
  for (const NodeId id : phases->graphs[0].model.graph.node_ids()) {
    const Node& node = phases->graphs[0].model.graph.node(id);
    trained.lowered += node.op_type == "Conv" &&
                       phases->graphs[0].model.graph.type(node.inputs[0]).dtype == DType::kBFloat16;
  }
  SessionOptions options;
  options.num_threads = 2;
  options.precision = SessionPrecision(config);
  options.stop_after_patches = phases->patches_left;
  const std::vector<SessionOptions> of_all(phases->graphs.size(), options);
  const std::optional<size_t> loss = phases->graphs[0].outputs.loss;
  auto session =
      TrainingSession::Create(std::move(phases->graphs), of_all, {RecomputePass(*loss, {}, 3)});
  if (!session.ok()) return session.status();
  trained.patches = std::max(stop_after_patches, 0) - std::max(phases->patches_left, 0);
  for (const size_t phase : {0, 1})
    for (const PassReport& pass : (*session)->session(phase).passes())
      trained.patches += pass.patches;
  for (const NodeExplanation& node : (*session)->session().Explain())
    trained.copied += node.node.find("'again/") != std::string::npos;
  Tensor images(DType::kFloat32, {8, 3, 32, 32}), labels(DType::kInt64, {8});
  for (int64_t i = 0; i < images.num_elements(); ++i)
    images.mutable_data<float>()[i] = std::sin(static_cast<float>(i) * 0.37f);
  for (int64_t i = 0; i < 8; ++i) labels.mutable_data<int64_t>()[i] = i % 10;
  for (int step = 0; step < 2; ++step) {
    const auto outputs = (*session)->Step({{input, images}, {"label", labels}});
    if (!outputs.ok()) return outputs.status();
    trained.loss = outputs->at("loss").tensor().data<float>()[0];
  }
  return trained;
}

TEST(StopAfterPatches, TheFirstRewritesOfATrainingAreMade) {
  const int many = 1 << 20;
  const auto whole = Train(many);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_GT(whole->lowered, 0);
  EXPECT_GT(whole->copied, 0);
  const auto none = Train(0);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->patches, 0);
  EXPECT_EQ(none->lowered, 0);
  EXPECT_EQ(none->copied, 0);
  for (const int patches : {1, 5, whole->patches / 2, whole->patches - 1, whole->patches}) {
    SCOPED_TRACE(patches);
    const auto some = Train(patches);
    ASSERT_TRUE(some.ok()) << some.status();
    EXPECT_EQ(some->patches, patches);
    EXPECT_LE(some->lowered, whole->lowered);
    EXPECT_NEAR(some->loss, none->loss, 0.05);
  }
  // The bisection itself: the patch that lowers the first convolution.
  int without = 0, with = whole->patches;
  while (with - without > 1) {
    const int middle = (without + with) / 2;
    const auto some = Train(middle);
    ASSERT_TRUE(some.ok()) << some.status();
    (some->lowered > 0 ? with : without) = middle;
  }
  EXPECT_EQ(Train(with)->lowered, 1);
  EXPECT_EQ(Train(without)->lowered, 0);
  const auto unlimited = Train(-1);
  ASSERT_TRUE(unlimited.ok()) << unlimited.status();
  EXPECT_EQ(unlimited->loss, whole->loss);
}

}  // namespace
}  // namespace onward::training
