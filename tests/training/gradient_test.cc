#include "onward/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ir/verify.h"
#include "onward/builder.h"
#include "onward/functions.h"
#include "onward/session.h"

namespace onward::training {
namespace {

using namespace expr;  // NOLINT

Tensor Random(DimsView dims, unsigned seed, double low = -1, double high = 1) {
  Tensor tensor(DType::kFloat64, dims);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> draw(low, high);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<double>()[i] = draw(random);
  return tensor;
}

struct GradientCase {
  std::string name;
  std::vector<Dims> inputs;
  std::function<Expr(const std::vector<Expr>&)> f;
  double low = -1, high = 1;
};

const Attributes kConvAttributes = {{"pads", std::vector<int64_t>{1, 0, 0, 1}},
                                    {"strides", std::vector<int64_t>{2, 1}},
                                    {"dilations", std::vector<int64_t>{1, 2}}};

std::vector<GradientCase> Cases() {
  return {
      {"abs", {{2, 3}}, [](const auto& x) { return Abs(x[0]); }},
      {"cos", {{2, 3}}, [](const auto& x) { return Cos(x[0]); }},
      {"erf", {{2, 3}}, [](const auto& x) { return Erf(x[0]); }},
      {"exp", {{2, 3}}, [](const auto& x) { return Exp(x[0]); }},
      {"log", {{2, 3}}, [](const auto& x) { return Log(x[0]); }, 0.5, 2},
      {"neg", {{2, 3}}, [](const auto& x) { return -x[0]; }},
      {"reciprocal", {{2, 3}}, [](const auto& x) { return Reciprocal(x[0]); }, 0.5, 2},
      {"relu", {{4, 5}}, [](const auto& x) { return Relu(x[0]); }},
      {"sigmoid", {{2, 3}}, [](const auto& x) { return Sigmoid(x[0]); }},
      {"sin", {{2, 3}}, [](const auto& x) { return Sin(x[0]); }},
      {"sqrt", {{2, 3}}, [](const auto& x) { return Sqrt(x[0]); }, 0.5, 2},
      {"tanh", {{2, 3}}, [](const auto& x) { return Tanh(x[0]); }},
      {"add_broadcast", {{2, 3}, {3}}, [](const auto& x) { return x[0] + x[1]; }},
      {"sub_broadcast", {{1, 3}, {2, 1}}, [](const auto& x) { return x[0] - x[1]; }},
      {"mul_broadcast", {{2, 3, 2}, {3, 1}}, [](const auto& x) { return x[0] * x[1]; }},
      {"mul_same", {{2, 3}}, [](const auto& x) { return x[0] * x[0]; }},
      {"div_broadcast", {{2, 3}, {2, 1}}, [](const auto& x) { return x[0] / x[1]; }, 0.5, 2},
      {"reshape",
       {{2, 6}},
       [](const auto& x) {
         return Reshape(x[0], {3, -1}) * Reshape(x[0], {3, 4});
       }},
      {"matmul", {{2, 3}, {3, 4}}, [](const auto& x) { return MatMul(x[0], x[1]); }},
      {"matmul_batched", {{2, 2, 3}, {3, 4}}, [](const auto& x) { return MatMul(x[0], x[1]); }},
      {"gemm",
       {{2, 3}, {3, 4}, {4}},
       [](const auto& x) { return Gemm(x[0], x[1], x[2], false, false, 0.5f, 2.0f); }},
      {"gemm_transposed",
       {{3, 2}, {4, 3}, {2, 1}},
       [](const auto& x) { return Gemm(x[0], x[1], x[2], true, true, 0.5f); }},
      {"conv",
       {{2, 3, 5, 6}, {4, 3, 3, 2}, {4}},
       [](const auto& x) {
         return Op("Conv", {x[0], x[1], x[2]}, kConvAttributes);
       }},
      {"conv_same",
       {{1, 2, 5, 4}, {3, 2, 3, 3}},
       [](const auto& x) {
         return Op(
             "Conv", {x[0], x[1]},
             {{"auto_pad", std::string("SAME_UPPER")}, {"strides", std::vector<int64_t>{2, 2}}});
       }},
      {"max_pool",
       {{2, 2, 5, 5}},
       [](const auto& x) {
         return Op("MaxPool", {x[0]},
                   {{"kernel_shape", std::vector<int64_t>{2, 2}},
                    {"strides", std::vector<int64_t>{1, 2}}});
       }},
      {"global_average_pool",
       {{2, 2, 3, 4}},
       [](const auto& x) { return Op("GlobalAveragePool", {x[0]}); }},
      {"reduce_sum", {{2, 3, 4}}, [](const auto& x) { return ReduceSum(x[0], {1}, false); }},
      {"reduce_mean",
       {{2, 3, 4}},
       [](const auto& x) {
         return ReduceMean(x[0], {0, 2}, true);
       }},
      {"reduce_mean_all", {{2, 3}}, [](const auto& x) { return ReduceMean(x[0], {}, false); }},
      {"softmax", {{2, 3, 4}}, [](const auto& x) { return Softmax(x[0], 1); }},
      {"log_softmax", {{2, 5}}, [](const auto& x) { return LogSoftmax(x[0]); }},
  };
}

// loss = sum(f(x) * weights), so that every output element counts differently.
double Loss(Session& session, const Session::Inputs& inputs) {
  const auto outputs = session.Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs->at("loss").tensor().data<double>()[0];
}

void CheckCase(const GradientCase& c) {
  SCOPED_TRACE(c.name);
  GraphBuilder builder;
  std::vector<Expr> x;
  Session::Inputs inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const std::string name = absl::StrCat("x", i);
    x.push_back(builder.Input(name, Type::Tensor(DType::kFloat64, c.inputs[i])));
    inputs[name] = Value(Random(c.inputs[i], static_cast<unsigned>(7 + i), c.low, c.high));
  }
  const Expr y = c.f(x);
  const std::optional<Dims> dims = y.type().static_dims();
  ASSERT_TRUE(dims.has_value()) << y.type().ToString() << " " << builder.status();
  const Expr loss = ReduceSum(y * builder.Constant(Random(*dims, 99), "weights"), {}, false);
  builder.Output("loss", loss);
  const ValueId loss_id = loss.id();
  std::vector<ValueId> wrt;
  for (const Expr& input : x) wrt.push_back(input.id());
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  auto forward = Session::Create(*model);
  ASSERT_TRUE(forward.ok()) << forward.status();
  const auto gradients = AddGradients(model->graph, loss_id, wrt);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  for (size_t i = 0; i < gradients->size(); ++i) {
    GraphEdit(model->graph).Rename((*gradients)[i], absl::StrCat("g", i));
    GraphEdit(model->graph).AddOutput((*gradients)[i]);
  }
  auto session = Session::Create(std::move(*model));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < x.size(); ++i) {
    const std::string name = absl::StrCat("x", i);
    const Tensor& gradient = outputs->at(absl::StrCat("g", i)).tensor();
    ASSERT_EQ(gradient.dims(), DimsView(c.inputs[i]));
    for (int64_t e = 0; e < gradient.num_elements(); ++e) {
      Session::Inputs moved = inputs;
      Tensor up = inputs.at(name).tensor().Clone(), down = inputs.at(name).tensor().Clone();
      up.mutable_data<double>()[e] += kStep;
      down.mutable_data<double>()[e] -= kStep;
      moved[name] = Value(up);
      const double above = Loss(**forward, moved);
      moved[name] = Value(down);
      const double below = Loss(**forward, moved);
      const double expected = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradient.data<double>()[e], expected, 1e-6 + 1e-6 * std::fabs(expected))
          << "input " << i << " element " << e;
    }
  }
}

TEST(Gradient, EveryRuleAgreesWithFiniteDifferences) {
  for (const GradientCase& c : Cases()) CheckCase(c);
}

TEST(Gradient, AValueWithoutPathGetsZeros) {
  GraphBuilder builder;
  const Expr x = builder.Input("x", DType::kFloat32, {3}),
             unused = builder.Input("unused", DType::kFloat32, {2});
  const Expr loss = ReduceSum(x, {}, false);
  builder.Output("loss", loss);
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto gradients = AddGradients(model->graph, loss.id(), {unused.id()});
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_EQ(model->graph.type((*gradients)[0]).ToString(), "float32[2]");
}

TEST(Gradient, ErrorsNameNodeAndReason) {
  GraphBuilder builder;
  const Expr x = builder.Input("x", DType::kFloat32, {3}),
             ids = builder.Input("ids", DType::kInt64, {2});
  const Expr vector = Op("Unique", {x});
  const Expr loss = ReduceSum(vector, {}, false);
  builder.Output("loss", loss);
  builder.Output("vector", vector);
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::Status no_rule = AddGradients(model->graph, loss.id(), {x.id()}).status();
  EXPECT_EQ(no_rule.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(no_rule.message().find("[Unique '"), std::string::npos) << no_rule;
  const absl::Status not_scalar = AddGradients(model->graph, vector.id(), {x.id()}).status();
  EXPECT_NE(not_scalar.message().find("it must be one float"), std::string::npos) << not_scalar;
  const absl::Status integer = AddGradients(model->graph, loss.id(), {ids.id()}).status();
  EXPECT_NE(integer.message().find("'ids' is int64[2] and has no gradient"), std::string::npos)
      << integer;
}

// 2^60 paths through shared values, 60 nodes.
TEST(Gradient, SharedValuesCostOnce) {
  GraphBuilder builder;
  const Expr x = builder.Input("x", DType::kFloat64, {1});
  Expr y = x;
  for (int i = 0; i < 60; ++i) y = (y + y) * 0.5;
  const Expr loss = ReduceSum(y, {}, false);
  builder.Output("loss", loss);
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto gradients = AddGradients(model->graph, loss.id(), {x.id()});
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  GraphEdit(model->graph).AddOutput((*gradients)[0]);
  const std::string name = model->graph.value((*gradients)[0]).name;
  auto session = Session::Create(std::move(*model));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto outputs = (*session)->Run({{"x", Tensor::Of<double>({1}, {3})}});
  EXPECT_EQ(outputs->at(name).tensor().data<double>()[0], 1.0);
}

// A weight that every example is multiplied with gets its gradient from one product, not from one
// per example that are added up.
TEST(Gradient, OfASharedMatrixIsOneProduct) {
  GraphBuilder builder;
  const Expr x = builder.Input("x", DType::kFloat64, {Dim::Symbol("batch"), 4, 20});
  const Expr w = builder.Input("w", DType::kFloat64, {20, 30});
  const Expr loss = ReduceSum(MatMul(x, w), {}, false);
  builder.Output("loss", loss);
  auto model = builder.Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto gradients = AddGradients(model->graph, loss.id(), {w.id()});
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  for (int i = 0; i < model->graph.num_values(); ++i) {
    const auto& shape = model->graph.type(ValueId{i}).shape;
    EXPECT_FALSE(shape && shape->size() == 3 && (*shape)[1] == Dim(20)) << i;
  }
}

}  // namespace
}  // namespace onward::training
