// Attention that exporters write as products and a softmax is trained as one op.
#include "training/rewrite/fuse_attention.h"

#include <gtest/gtest.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/text_format.h"
#include "graph/ir/graph_edit.h"
#include "tests/support/fast_kernels.h"
#include "tests/support/kernel_runner.h"
#include "tests/support/text_model.h"
#include "training/rewrite/loss_scale.h"
#include "training/step/make_phases.h"
#include "training/step/training_session.h"

namespace onward::training {
namespace {

// Causal attention of four heads as PyTorch's exporter writes it: with arithmetic of shapes.
constexpr char kText[] =
    "g (float[2,64,16] x, float[16,16] wq, float[16,16] wk, float[16,16] wv, float[16,3] wo)"
    "=> (float[2,64,3] y) <int64[4] split = {2, 64, 4, 4}, int64[3] join = {2, 64, 16},"
    "  int64[2] square = {64, 64}, int64 one = {1}, float unit = {1}> {"
    "q = MatMul(x, wq) q1 = Reshape(q, split) q2 = Transpose <perm = [0, 2, 1, 3]> (q1)"
    "k = MatMul(x, wk) k1 = Reshape(k, split) k2 = Transpose <perm = [0, 2, 1, 3]> (k1)"
    "v = MatMul(x, wv) v1 = Reshape(v, split) v2 = Transpose <perm = [0, 2, 1, 3]> (v1)"
    "size = Shape <start = 3> (q2) count = CastLike(size, q2) root = Sqrt(count)"
    "scale = Div(unit, root) half = Sqrt(scale) q3 = Mul(q2, half)"
    "k3 = Transpose <perm = [0, 1, 3, 2]> (k2) k4 = Mul(k3, half) a = MatMul(q3, k4)"
    "low = ConstantOfShape <value = float[1] {-3.0e38}> (square) m = Trilu <upper = 1> (low, one)"
    "b = Add(a, m) p = Softmax <axis = -1> (b) o = MatMul(p, v2)"
    "o1 = Transpose <perm = [0, 2, 1, 3]> (o) o2 = Reshape(o1, join) y = MatMul(o2, wo) }";

TrainableModel Network() {
  TrainableModel network;
  auto model = testing::ModelFromText(kText);
  EXPECT_TRUE(model.ok()) << model.status();
  network.model = *std::move(model);
  Graph& graph = network.model.graph;
  std::mt19937 random(3);
  for (const char* name : {"wq", "wk", "wv", "wo"}) {
    const ValueId id = graph.FindValue(name);
    GraphEdit(graph).constant(id) =
        testing::RandomFloats(*graph.type(id).static_dims(), random, -0.5f, 0.5f);
    GraphEdit(graph).RemoveInput(id);
    network.initializers.emplace_back(name);
  }
  return network;
}

struct Trained {
  std::string nodes;
  int64_t planned = 0;
  std::vector<float> losses;
  std::map<std::string, Tensor> state;
};

absl::StatusOr<Trained> Train(const std::string& precision) {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat(R"(model: "" loss { cross_entropy { class_axis: -1 } } data {} steps: 1
                      optimizer { sgd { lr: 0.1 } } )",
                   precision),
      &config));
  auto phases =
      MakeTrainingPhases(Network(), config, {{"label", Type::Tensor(DType::kInt64, Dims{64})}});
  if (!phases.ok()) return phases.status();
  Trained trained;
  trained.nodes = testing::Nodes(phases->graphs[0].model.graph);
  SessionOptions options;
  options.num_threads = 2;
  options.precision = SessionPrecision(config);
  auto session = TrainingSession::Create(std::move(phases->graphs[0]), options);
  if (!session.ok()) return session.status();
  std::mt19937 random(4);
  Tensor labels(DType::kInt64, {2, 64});
  for (int64_t i = 0; i < 128; ++i) labels.mutable_data<int64_t>()[i] = i * i % 3;
  const Session::Inputs batch = {{"x", testing::RandomFloats({2, 64, 16}, random, -2, 2)},
                                 {"label", labels}};
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

void ExpectSameWeights(const Trained& actual, const Trained& expected, double tolerance) {
  ASSERT_EQ(actual.state.size(), expected.state.size());
  for (const auto& [name, tensor] : expected.state) {
    ASSERT_TRUE(actual.state.count(name)) << name;
    EXPECT_EQ(testing::Difference(actual.state.at(name), tensor, tolerance, tolerance), "") << name;
  }
  for (size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(actual.losses[i], expected.losses[i], tolerance * expected.losses[i]);
}

TEST(FuseAttentionForTraining, TrainsAsItsPartsInLessMemory) {
  const auto parts = Train("precision { arithmetic: STRICT }");
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_TRUE(absl::StrContains(parts->nodes, "p = Softmax(b)")) << parts->nodes;
  const auto fused = Train("");
  ASSERT_TRUE(fused.ok()) << fused.status();
  EXPECT_FALSE(absl::StrContains(fused->nodes, "= Softmax(")) << fused->nodes;
  EXPECT_TRUE(absl::StrContains(fused->nodes, "onward.AttentionGradient(")) << fused->nodes;
  EXPECT_FALSE(absl::StrContains(fused->nodes, "Trilu(")) << fused->nodes;
  ExpectSameWeights(*fused, *parts, 1e-4);
  EXPECT_LT(fused->planned, parts->planned * 7 / 10);
  EXPECT_LT(parts->losses[3], parts->losses[0]);
}

// dynamo=True writes shapes and scales as initializers beside the weights, and says what they are.
TEST(FuseAttentionForTraining, ConstantsAmongTheInitializers) {
  TrainableModel network = Network();
  for (const char* name : {"split", "join", "square", "one", "unit"})
    network.initializers.emplace_back(name);
  Graph& graph = network.model.graph;
  GraphEdit(graph).metadata(graph.FindValue(
      "unit"))["pkg.torch.export.graph_signature.InputSpec.kind"] = "CONSTANT_TENSOR";
  TrainConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "model: '' loss { cross_entropy { class_axis: -1 } } data {} steps: 1 "
      "optimizer { sgd {} }",
      &config));
  const std::vector<Field> fields = {{"label", Type::Tensor(DType::kInt64, Dims{64})}};
  auto phases = MakeTrainingPhases(network, config, fields);
  ASSERT_TRUE(phases.ok()) << phases.status();
  EXPECT_TRUE(absl::StrContains(testing::Nodes(phases->graphs[0].model.graph),
                                "onward.AttentionGradient("));
  EXPECT_EQ(phases->parameters, (std::vector<std::string>{"wq", "wk", "wv", "wo"}));
  config.add_trainable("*");
  config.add_frozen("unit");
  phases = MakeTrainingPhases(network, config, fields);
  ASSERT_TRUE(phases.ok()) << phases.status();
  EXPECT_EQ(phases->parameters, (std::vector<std::string>{"wq", "wk", "wv", "wo"}));
}

TEST(FuseAttentionForTraining, UnderAutocast) {
  const auto wide = Train("");
  const auto narrow = Train("precision { autocast: BFLOAT16 }");
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_TRUE(absl::StrContains(narrow->nodes, "onward.AttentionGradient(")) << narrow->nodes;
  ExpectSameWeights(*narrow, *wide, 2e-2);
}

absl::Status Fuse(Model& model, const std::vector<std::string>& initializers) {
  int budget = PatchBudget(-1);
  return FuseAttention(model, initializers, budget);
}

TEST(FuseAttentionForTraining, ShortRowsAreKept) {
  const std::string text =
      absl::StrReplaceAll(kText, {{",64,", ",32,"}, {" 64", " 32"}, {"{64", "{32"}});
  auto model = testing::ModelFromText(text);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string before = testing::Nodes(model->graph);
  ASSERT_TRUE(Fuse(*model, {}).ok());
  EXPECT_EQ(testing::Nodes(model->graph), before);
}

// masked_fill: a row that a number fills gives its scores no gradient, Attention's would.
TEST(FuseAttentionForTraining, FilledScores) {
  const auto fuses = [](const std::string& condition, const std::string& where) {
    auto model = testing::ModelFromText(absl::StrCat(
        "g (float[2,4,64,4] q, float[2,4,64,4] k, float[2,4,64,4] v, bool[2,1,1,64] pad)"
        "=> (float[2,4,64,4] y) <float low = {-3.0e38}, float half = {0.5},"
        "  float zero = {0}, int64[2] square = {64, 64}, int64 first = {",
        condition,
        "}> { ones = ConstantOfShape <value = float[1] {1}> (square)"
        "m = Trilu <upper = 1> (ones, first) causal = Cast <to = 9> (m)"
        "l = Log(zero)"
        "kt = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul(q, kt) s = Mul(a, half) w = ",
        where, " p = Softmax <axis = -1> (w) y = MatMul(p, v) }"));
    EXPECT_TRUE(model.ok()) << model.status();
    EXPECT_TRUE(Fuse(*model, {}).ok());
    const std::string nodes = testing::Nodes(model->graph);
    EXPECT_NE(absl::StrContains(nodes, "Softmax("), absl::StrContains(nodes, "Attention("))
        << nodes;
    return absl::StrContains(nodes, "Attention(");
  };
  EXPECT_TRUE(fuses("1", "Where(causal, low, s)"));
  EXPECT_FALSE(fuses("0", "Where(causal, low, s)")) << "the last row has no key";
  EXPECT_FALSE(fuses("1", "Where(causal, s, low)")) << "the last row has no key";
  EXPECT_TRUE(fuses("0", "Where(causal, s, low)"));
  EXPECT_FALSE(fuses("1", "Where(pad, low, s)"));
  EXPECT_FALSE(fuses("1", "Where(pad, s, low)"));
  EXPECT_TRUE(fuses("1", "Where(pad, l, s)")) << "log 0: such a row is NaN in PyTorch";
}

TEST(FuseAttentionForTraining, OtherModelsStayAsTheyAre) {
  auto model = testing::ModelFromText(
      "g (float[2,3] x) => (float[2,2] y) <float[3,2] w = {1,2,3,4,5,6}, float[1] two = {2}> {"
      "s = Mul(two, two) a = MatMul(x, w) b = Mul(a, s) y = Softmax(b) }");
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string before = testing::Nodes(model->graph);
  ASSERT_TRUE(Fuse(*model, std::vector<std::string>{"w"}).ok());
  EXPECT_EQ(testing::Nodes(model->graph), before);
  EXPECT_TRUE(model->graph.is_constant(model->graph.FindValue("w")));
}

}  // namespace
}  // namespace onward::training
