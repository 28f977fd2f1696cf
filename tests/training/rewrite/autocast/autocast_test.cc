// Where autocast puts its Casts, and steps beside those that PyTorch makes under its own
// (make_cases.py).
#include "graph/rewrite/autocast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "files/npy.h"
#include "google/protobuf/text_format.h"
#include "graph/infer/infer.h"
#include "graph/ir/verify.h"
#include "onward/builder.h"
#include "onward/functions.h"
#include "tests/support/text_model.h"
#include "training/rewrite/loss_scale.h"
#include "training/step/make_phases.h"
#include "training/step/training_session.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT

Model Casted(const std::string& text, DType dtype = DType::kBFloat16) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  int budget = PatchBudget(-1);
  EXPECT_TRUE(Autocast(*model, dtype, budget).ok());
  EXPECT_TRUE(Verify(model->graph).ok()) << Verify(model->graph);
  EXPECT_TRUE(InferGraph(model->graph).ok());
  return *std::move(model);
}

std::string NodesOf(const std::string& text, DType dtype = DType::kBFloat16) {
  return testing::Nodes(Casted(text, dtype).graph);
}

TEST(Autocast, ProductsAreLowWhatFollowsToo) {
  EXPECT_EQ(NodesOf("g (float[N,2] x) => (float[N,2] z) <float[2,2] w = {1, 2, 3, 4}> {"
                    "y = MatMul(x, w) z = Relu(y) }"),
            "x_bfloat16 = Cast(x)\n"
            "w_bfloat16 = Cast(w)\n"
            "y_bfloat16 = MatMul(x_bfloat16, w_bfloat16)\n"
            "z_bfloat16 = Relu(y_bfloat16)\n"
            "z = Cast(z_bfloat16)\n");
}

TEST(Autocast, AWeightIsCastOnceForAllItsUsers) {
  EXPECT_EQ(NodesOf("g (float[N,2] x) => (float[N,2] z) <float[2,2] w = {1, 2, 3, 4}> {"
                    "y = MatMul(x, w) z = MatMul(y, w) }",
                    DType::kFloat16),
            "x_float16 = Cast(x)\n"
            "w_float16 = Cast(w)\n"
            "y_float16 = MatMul(x_float16, w_float16)\n"
            "z_float16 = MatMul(y_float16, w_float16)\n"
            "z = Cast(z_float16)\n");
}

TEST(Autocast, SumsAndExponentialsAreFull) {
  EXPECT_EQ(NodesOf("g (float[N,2] x) => (float[N,2] z) {"
                    "t = Transpose(x) y = MatMul(x, t) s = Softmax(y) z = MatMul(s, x) }"),
            "t = Transpose(x)\n"
            "x_bfloat16 = Cast(x)\n"
            "t_bfloat16 = Cast(t)\n"
            "y_bfloat16 = MatMul(x_bfloat16, t_bfloat16)\n"
            "y = Cast(y_bfloat16)\n"
            "s = Softmax(y)\n"
            "s_bfloat16 = Cast(s)\n"
            "z_bfloat16 = MatMul(s_bfloat16, x_bfloat16)\n"
            "z = Cast(z_bfloat16)\n");
}

TEST(Autocast, OthersTakeTheWidestButForScalarsAndBiases) {
  EXPECT_EQ(NodesOf("g (float[N,2] x) => (float[N,2] z) <float[2,2] w = {1, 2, 3, 4}, "
                    "float[2] b = {1, 2}, float two = {2}> {"
                    "y = MatMul(x, w) a = Add(y, b) h = Mul(a, two) z = Add(h, x) }"),
            "x_bfloat16 = Cast(x)\n"
            "w_bfloat16 = Cast(w)\n"
            "y_bfloat16 = MatMul(x_bfloat16, w_bfloat16)\n"
            "b_bfloat16 = Cast(b)\n"
            "a_bfloat16 = Add(y_bfloat16, b_bfloat16)\n"
            "two_bfloat16 = Cast(two)\n"
            "h_bfloat16 = Mul(a_bfloat16, two_bfloat16)\n"
            "h = Cast(h_bfloat16)\n"
            "z = Add(h, x)\n");
}

TEST(Autocast, StatisticsStayFullBesideLowElements) {
  const Model model = Casted(
      "g (float[N,2,4] x, float[2] mean, float[2] var) => (float[N,2,2] y, float[2] m, float[2] v)"
      "<float[2,2,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, float[2] s = {1, 1}> {"
      "c = Conv(x, w) y, m, v = BatchNormalization <training_mode = 1> (c, s, s, mean, var) }");
  EXPECT_EQ(testing::Nodes(model.graph),
            "x_bfloat16 = Cast(x)\n"
            "w_bfloat16 = Cast(w)\n"
            "c_bfloat16 = Conv(x_bfloat16, w_bfloat16)\n"
            "y_bfloat16, m, v = BatchNormalization(c_bfloat16, s, s, mean, var)\n"
            "y = Cast(y_bfloat16)\n");
}

TEST(Autocast, WhatReadsNoFloatsOfItsOwnReadsLowOnes) {
  EXPECT_EQ(NodesOf("g (float[N,2] x) => (int64[K] s, bool[N,N] e, double[N,N] d) {"
                    "t = Transpose(x) y = MatMul(x, t) s = Shape(y) e = IsNaN(y)"
                    "d = Cast <to = 11> (y) }"),
            "t = Transpose(x)\n"
            "x_bfloat16 = Cast(x)\n"
            "t_bfloat16 = Cast(t)\n"
            "y_bfloat16 = MatMul(x_bfloat16, t_bfloat16)\n"
            "s = Shape(y_bfloat16)\n"
            "e = IsNaN(y_bfloat16)\n"
            "d = Cast(y_bfloat16)\n");
}

TEST(Autocast, BodiesHaveTheirOwnCastsAndKeepTheirTypes) {
  const Model model = Casted(
      "g (bool c, float[2,2] x) => (float[2,2] z) { y = MatMul(x, x) "
      "z = If (c) <then_branch = a () => (float[2,2] p) { p = MatMul(y, x) }, "
      "else_branch = b () => (float[2,2] q) { q = Identity(y) }> }");
  EXPECT_EQ(testing::Nodes(model.graph),
            "x_bfloat16 = Cast(x)\n"
            "y_bfloat16 = MatMul(x_bfloat16, x_bfloat16)\n"
            "y = Cast(y_bfloat16)\n"
            "z = If(c)\n");
  const Node& branch = model.graph.node(model.graph.TopologicalOrder()->back());
  const std::string body = testing::Nodes(*branch.FindSubgraph("then_branch")->graph);
  EXPECT_THAT(body, ::testing::HasSubstr("p = Cast(p_bfloat16)"));
}

TEST(Autocast, OtherFloatsAndSequencesStay) {
  const std::string doubles = "g (double[2,2] x) => (double[2,2] y) { y = MatMul(x, x) }";
  EXPECT_EQ(NodesOf(doubles), "y = MatMul(x, x)\n");
  EXPECT_EQ(NodesOf("g (float[2,2] x) => (float[2,2] z) { y = MatMul(x, x) s = SequenceConstruct(y)"
                    "z = ConcatFromSequence <axis = 0> (s) }"),
            "x_bfloat16 = Cast(x)\n"
            "y_bfloat16 = MatMul(x_bfloat16, x_bfloat16)\n"
            "y = Cast(y_bfloat16)\n"
            "s = SequenceConstruct(y)\n"
            "z = ConcatFromSequence(s)\n");
}

// --- beside PyTorch

using Arrays = std::map<std::string, Tensor>;

Arrays Case(const std::string& name) {
  auto arrays =
      files::ReadNpz(ONWARD_SOURCE_DIR "/tests/training/rewrite/autocast/cases/" + name + ".npz");
  EXPECT_TRUE(arrays.ok()) << arrays.status();
  return {arrays->begin(), arrays->end()};
}

class Layers {
 public:
  Layers(GraphBuilder& builder, const Arrays& arrays) : builder_(builder), arrays_(arrays) {}
  Expr Parameter(const std::string& name) {
    if (name.find("running_") == std::string::npos) names.push_back(name);
    return builder_.Constant(arrays_.at(name), name);
  }
  Expr Linear(const Expr& x, const std::string& name) {
    return Gemm(x, Parameter(name + ".weight"), Parameter(name + ".bias"), false, true);
  }
  std::vector<std::string> names;

 private:
  GraphBuilder& builder_;
  const Arrays& arrays_;
};

Expr Mlp(Layers& layers, const Expr& x) {
  const Expr hidden = layers.Linear(Op("Gelu", {layers.Linear(x, "0")}), "2");
  const Expr normal =
      Op("LayerNormalization", {hidden, layers.Parameter("3.weight"), layers.Parameter("3.bias")});
  return layers.Linear(Relu(normal), "5");
}

Expr Cnn(Layers& layers, const Expr& x) {
  const auto ints = [](int64_t value, size_t n) { return std::vector<int64_t>(n, value); };
  const Expr first = Op("Conv", {x, layers.Parameter("0.weight"), layers.Parameter("0.bias")},
                        {{"pads", ints(1, 4)}});
  const Expr normal = Op("BatchNormalization",
                         {first, layers.Parameter("1.weight"), layers.Parameter("1.bias"),
                          layers.Parameter("1.running_mean"), layers.Parameter("1.running_var")});
  const Expr pooled =
      Op("MaxPool", {Relu(normal)}, {{"kernel_shape", ints(2, 2)}, {"strides", ints(2, 2)}});
  const Expr second = Op("Conv", {pooled, layers.Parameter("4.weight"), layers.Parameter("4.bias")},
                         {{"strides", ints(2, 2)}});
  return layers.Linear(Op("Flatten", {second}), "6");
}

double Distance(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i)
    sum += std::pow(static_cast<double>(a.data<float>()[i] - b.data<float>()[i]), 2);
  return std::sqrt(sum);
}

struct Step {
  float loss = 0;
  Arrays gradients;
};

// A step of SGD with rate 1 takes the gradients away from the weights.
Step MakeStep(const std::string& name, const std::string& precision, Precision session_precision) {
  Step step;
  const Arrays arrays = Case(name);
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "loss { cross_entropy {} } optimizer { sgd { lr: 1 } "
      "}"
      "data {} precision { autocast: " +
          precision + " loss_scale: 64 }",
      &config));
  GraphBuilder builder(name);
  Layers layers(builder, arrays);
  const Tensor& x = arrays.at("x");
  std::vector<Dim> dims = {ParseDim("batch")};
  for (const int64_t dim : x.dims().subspan(1)) dims.push_back(Dim(dim));
  const Expr input =
      builder.Input("x", Type::Tensor(DType::kFloat32, SymbolicDims(dims.begin(), dims.end())));
  builder.Output("logits", name == "mlp" ? Mlp(layers, input) : Cnn(layers, input));
  auto model = builder.Build();
  EXPECT_TRUE(model.ok()) << model.status();
  const std::vector<Field> fields = {{"x", Type::Tensor(DType::kFloat32, x.dims().subspan(1))},
                                     {"label", Type::Tensor(DType::kInt64, DimsView())}};
  auto phases = MakeTrainingPhases({*std::move(model), layers.names}, config, fields);
  EXPECT_TRUE(phases.ok()) << phases.status();
  if (!phases.ok()) return step;
  std::vector<SessionOptions> options(1);
  options[0].precision = session_precision;
  auto session = TrainingSession::Create(std::move(phases->graphs), options);
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok()) return step;
  if (precision == "FLOAT16") {
    EXPECT_TRUE((*session)->Set(&StepInputs::loss_scale, Tensor::Scalar(64.0f)).ok());
  }
  const auto outputs = (*session)->Step({{"x", x}, {"label", arrays.at("label")}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return step;
  step.loss = outputs->at("loss").tensor().data<float>()[0];
  for (const std::string& parameter : phases->parameters) {
    const Tensor before = arrays.at(parameter), after = *(*session)->State(parameter);
    Tensor gradient(DType::kFloat32, before.dims());
    for (int64_t i = 0; i < before.num_elements(); ++i)
      gradient.mutable_data<float>()[i] = before.data<float>()[i] - after.data<float>()[i];
    step.gradients[parameter] = gradient;
  }
  return step;
}

class BesidePyTorch
    : public ::testing::TestWithParam<std::tuple<const char*, const char*, Precision>> {};

// As near to float32 as PyTorch under its autocast is.
TEST_P(BesidePyTorch, LossAndGradients) {
  const auto& [name, precision, session_precision] = GetParam();
  const Arrays arrays = Case(name);
  const Step step = MakeStep(name, precision, session_precision);
  EXPECT_NEAR(step.loss, arrays.at("loss").data<float>()[0], 4e-3);
  ASSERT_EQ(step.gradients.size(), 8u);
  for (const auto& [parameter, gradient] : step.gradients) {
    const Tensor& peer = arrays.at("gradient/" + parameter);
    const Tensor& exact = arrays.at("exact/gradient/" + parameter);
    const double allowed = 1.5 * Distance(peer, exact) + 1e-3;
    EXPECT_LE(Distance(gradient, exact), allowed) << parameter;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BesidePyTorch,
                         ::testing::Combine(::testing::Values("mlp", "cnn"),
                                            ::testing::Values("BFLOAT16", "FLOAT16"),
                                            ::testing::Values(Precision::kStrict,
                                                              Precision::kDefault,
                                                              Precision::kFast)));

}  // namespace
}  // namespace onward::training
