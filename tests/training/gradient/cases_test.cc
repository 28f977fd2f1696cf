// Gradient rules against PyTorch's autograd in double precision (make_cases.py) and against finite
// differences of our own forward graph.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "onward/session.h"
#include "tests/support/case_file.h"
#include "tests/support/gradient_case.h"
#include "tests/support/kernel_runner.h"

namespace onward::training {
namespace {

using testing::GradientCase;
using testing::GradientVariant;

const std::string kFolder = absl::StrCat(ONWARD_SOURCE_DIR, "/tests/training/gradient/cases");

class GradientCasesTest : public ::testing::TestWithParam<std::string> {
 protected:
  // Calls `check` with every case of the family.
  void ForEachCase(void (*check)(const GradientCase& c)) {
    const auto cases = testing::GradientCases(kFolder, GetParam());
    ASSERT_TRUE(cases.ok()) << cases.status();
    ASSERT_FALSE(cases->empty());
    for (const GradientCase& c : *cases) {
      SCOPED_TRACE(absl::StrCat(c.family, "/", c.name));
      check(c);
    }
  }
};

double LargestOf(const Tensor& tensor) {
  double largest = 0;
  for (const double value : tensor.span<double>()) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

void ExpectNear(const Tensor& actual, const Tensor& expected, double rtol,
                const std::string& what) {
  if (!IsFloating(expected.dtype())) {
    EXPECT_EQ(testing::Difference(actual, expected, 0, 0), "") << what;
    return;
  }
  const Tensor wide = testing::ToFloat(expected, DType::kFloat64);
  EXPECT_EQ(testing::Difference(testing::ToFloat(actual, DType::kFloat64), wide, rtol,
                                rtol * LargestOf(wide)),
            "")
      << what;
}

std::unique_ptr<Session> SessionOf(absl::StatusOr<Model> model, bool optimize = true) {
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return nullptr;
  SessionOptions options;
  options.num_threads = 1;
  options.optimize = optimize;
  auto session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

void CheckExpected(const GradientCase& c, const GradientVariant& variant, bool optimize,
                   double rtol, bool may_fail = false) {
  SCOPED_TRACE(absl::StrCat("sizes ", static_cast<int>(variant.sizes), " dtype ",
                            static_cast<int>(variant.dtype)));
  const auto session = SessionOf(testing::DifferentiatedModel(c, variant), optimize);
  if (session == nullptr) return;
  const auto outputs = session->Run(testing::CaseInputs(c, *session, variant.dtype));
  if (may_fail && !outputs.ok()) return;
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (const auto& [name, value] : *outputs)
    ExpectNear(value.tensor(), c.arrays.at(name), rtol, name);
}

TEST_P(GradientCasesTest, EqualPyTorch) {
  ForEachCase([](const GradientCase& c) {
    CheckExpected(c, {c.dtype}, true, c.rtol);
    if (!c.fixed) CheckExpected(c, {c.dtype, testing::Sizes::kSymbols}, false, c.rtol);
  });
}

// The ops of graph/gradients: their formulas in double, their kernels in float.
TEST_P(GradientCasesTest, EqualPyTorchWithOnwardOps) {
  ForEachCase([](const GradientCase& c) {
    CheckExpected(c, {c.dtype, testing::Sizes::kKnown, true}, true, c.rtol);
    if (!c.floats) return;
    const GradientVariant floats{DType::kFloat32, testing::Sizes::kKnown, true};
    const auto forward = testing::ForwardModel(c, floats);
    if (forward.ok() && Session::Create(*forward).ok())
      CheckExpected(c, floats, true, std::max(2e-4, c.rtol));
  });
}

// Where ranks are not known the gradient is right, or an error says why not: at once, or when the
// ranks turn out not to be what the op usually has (a vector in MatMul).
TEST_P(GradientCasesTest, EqualPyTorchWithOpenRanks) {
  ForEachCase([](const GradientCase& c) {
    const GradientVariant variant{c.dtype, testing::Sizes::kOpen};
    const auto model = testing::DifferentiatedModel(c, variant);
    if (model.ok()) {
      CheckExpected(c, variant, true, c.rtol, true);
    } else if (absl::IsUnimplemented(model.status())) {
      const std::string message(model.status().message());
      EXPECT_TRUE(absl::StrContains(message, "rank") || absl::StrContains(message, "size") ||
                  absl::StrContains(message, "known"))
          << message;
    }
  });
}

// The same graphs in the other float dtypes, where the op itself has them: they type-check and run;
// float comes near.
TEST_P(GradientCasesTest, RunInEveryFloat) {
  ForEachCase([](const GradientCase& c) {
    if (!c.floats) return;
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      const GradientVariant variant{dtype,
                                    c.fixed ? testing::Sizes::kKnown : testing::Sizes::kSymbols};
      const auto forward = testing::ForwardModel(c, variant);
      if (!forward.ok() || !Session::Create(*forward).ok()) continue;
      if (dtype == DType::kFloat32) {
        CheckExpected(c, variant, true, std::max(2e-4, c.rtol));
        continue;
      }
      const auto session = SessionOf(testing::DifferentiatedModel(c, variant));
      if (session == nullptr) continue;
      const auto outputs = session->Run(testing::CaseInputs(c, *session, dtype));
      EXPECT_TRUE(outputs.ok()) << outputs.status();
      if (!outputs.ok() || !c.smooth || !c.narrow) continue;
      SCOPED_TRACE(absl::StrCat("dtype ", static_cast<int>(dtype)));
      for (const auto& [name, value] : *outputs)
        ExpectNear(value.tensor(), c.arrays.at(name), dtype == DType::kFloat16 ? 0.02 : 0.15, name);
    }
  });
}

// What a session returns for `name`: the sum of all elements of double outputs times weights.
class Function {
 public:
  Function(Session& session, std::map<std::string, Tensor> weights)
      : session_(session), weights_(std::move(weights)) {}

  double operator()(const Session::Inputs& inputs) const {
    const auto outputs = session_.Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (!outputs.ok()) return 0;
    double sum = 0;
    for (const auto& [name, weight] : weights_) {
      const auto values = outputs->at(name).tensor().span<double>();
      for (size_t i = 0; i < values.size(); ++i) sum += values[i] * weight.span<double>()[i];
    }
    return sum;
  }

 private:
  Session& session_;
  std::map<std::string, Tensor> weights_;
};

// `gradient` of `f` by the input `name`, at up to 24 elements.
void CheckDifferences(const Function& f, const Session::Inputs& inputs, const std::string& name,
                      const Tensor& gradient, double tolerance) {
  constexpr double kStep = 1e-5;
  const Tensor& point = inputs.at(name).tensor();
  const int64_t count = point.num_elements();
  const int64_t stride = std::max<int64_t>(1, count / 24);
  ASSERT_EQ(gradient.num_elements(), count);
  const double scale = 1 + LargestOf(gradient);
  for (int64_t e = 0; e < count; e += stride) {
    Tensor up = point.Clone(), down = point.Clone();
    up.mutable_data<double>()[e] += kStep;
    down.mutable_data<double>()[e] -= kStep;
    Session::Inputs moved = inputs;
    moved[name] = Value(up);
    const double above = f(moved);
    moved[name] = Value(down);
    EXPECT_NEAR(gradient.data<double>()[e], (above - f(moved)) / (2 * kStep), tolerance * scale)
        << name << " element " << e;
  }
}

TEST_P(GradientCasesTest, AgreeWithFiniteDifferences) {
  ForEachCase([](const GradientCase& c) {
    if (!c.smooth) return;
    const auto session = SessionOf(testing::ForwardModel(c, {}));
    if (session == nullptr) return;
    std::map<std::string, Tensor> weights;
    for (const ValueInfo& output : session->outputs()) {
      const auto weight = c.arrays.find("d_" + output.name);
      if (weight != c.arrays.end()) weights[output.name] = weight->second;
    }
    const Session::Inputs inputs = testing::CaseInputs(c, *session, DType::kFloat64);
    for (const std::string& name : c.wrt) {
      CheckDifferences(Function(*session, weights), inputs, name, c.arrays.at("g_" + name), 1e-6);
    }
  });
}

Tensor Random(DimsView dims, unsigned seed) {
  Tensor tensor(DType::kFloat64, dims);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> draw(-1, 1);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<double>()[i] = draw(random);
  return tensor;
}

// Gradients of gradients against finite differences of the gradients.
void CheckSecondOrder(const GradientCase& c, const GradientVariant& variant) {
  SCOPED_TRACE(variant.onward_ops ? "second order, of ops of graph/gradients" : "second order");
  auto first = testing::DifferentiatedModel(c, variant);
  ASSERT_TRUE(first.ok()) << first.status();
  Model second = *first;
  Graph& graph = second.graph;
  GraphSink sink(graph, "second/");
  std::map<std::string, Tensor> weights;
  Expr loss = sink.Scalar(0, DType::kFloat64);
  std::vector<ValueId> wrt;
  for (const std::string& name : c.wrt) {
    const std::string gradient = "g_" + name;
    weights[gradient] = Random(c.arrays.at(gradient).dims(), 5);
    loss = loss +
           expr::ReduceSum(sink.Value(graph.FindValue(gradient)) * sink.Constant(weights[gradient]),
                           {}, false);
    wrt.push_back(graph.FindValue(name));
  }
  ASSERT_TRUE(sink.status().ok()) << sink.status();
  const auto gradients = AddGradients(graph, loss.id(), wrt);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  for (size_t i = 0; i < wrt.size(); ++i) {
    const Expr named = expr::Identity(sink.Value((*gradients)[i]));
    GraphEdit(graph).Rename(named.id(), absl::StrCat("gg_", c.wrt[i]));
    GraphEdit(graph).AddOutput(named.id());
  }
  const auto session = SessionOf(std::move(second));
  const auto once = SessionOf(*std::move(first));
  if (session == nullptr || once == nullptr) return;
  const Session::Inputs inputs = testing::CaseInputs(c, *session, DType::kFloat64);
  const auto outputs = session->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (const std::string& name : c.wrt) {
    CheckDifferences(Function(*once, weights), inputs, name, outputs->at("gg_" + name).tensor(),
                     1e-5);
  }
}

TEST_P(GradientCasesTest, HaveGradients) {
  ForEachCase([](const GradientCase& c) {
    if (!c.smooth || !c.second) return;
    CheckSecondOrder(c, {});
    CheckSecondOrder(c, {DType::kFloat64, testing::Sizes::kKnown, true});
  });
}

// Gradients of gradients where PyTorch's are given: at singular points, NaN included.
TEST_P(GradientCasesTest, HavePyTorchsGradients) {
  ForEachCase([](const GradientCase& c) {
    if (!c.arrays.contains("gg_" + c.wrt[0])) return;
    auto model = testing::DifferentiatedModel(c, {});
    ASSERT_TRUE(model.ok()) << model.status();
    Graph& graph = model->graph;
    GraphSink sink(graph, "second/");
    Expr loss = sink.Scalar(0, DType::kFloat64);
    std::vector<ValueId> wrt;
    std::vector<std::string> names;
    for (const std::string& name : c.wrt) {
      const Expr gradient = sink.Value(graph.FindValue("g_" + name));
      loss = loss + expr::ReduceSum(gradient * sink.Constant(c.arrays.at("dg_" + name)), {}, false);
      wrt.push_back(graph.FindValue(name));
      names.push_back("gg_" + name);
    }
    wrt.push_back(graph.FindValue("given/cotangent"));
    names.push_back("gd_y");
    ASSERT_TRUE(wrt.back().valid());
    ASSERT_TRUE(sink.status().ok()) << sink.status();
    const auto gradients = AddGradients(graph, loss.id(), wrt);
    ASSERT_TRUE(gradients.ok()) << gradients.status();
    for (size_t i = 0; i < wrt.size(); ++i) {
      const Expr named = expr::Identity(sink.Value((*gradients)[i]));
      GraphEdit(graph).Rename(named.id(), names[i]);
      GraphEdit(graph).AddOutput(named.id());
    }
    const auto session = SessionOf(*std::move(model));
    ASSERT_NE(session, nullptr);
    const auto outputs = session->Run(testing::CaseInputs(c, *session, DType::kFloat64));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (const std::string& name : names)
      ExpectNear(outputs->at(name).tensor(), c.arrays.at(name), 1e-12, name);
  });
}

INSTANTIATE_TEST_SUITE_P(Families, GradientCasesTest,
                         ::testing::ValuesIn(testing::CaseFamilies(kFolder)),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace onward::training
