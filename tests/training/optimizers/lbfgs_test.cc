// Ten steps each are PyTorch's (make_lbfgs_cases.py), in double.
#include "training/optimizers/lbfgs.h"

#include <cmath>
#include <memory>

#include "files/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/builder.h"
#include "onward/gradient.h"
#include "onward/session.h"
#include "training/losses/loss.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;
using Arrays = std::map<std::string, Tensor>;

absl::StatusOr<Lbfgs::Evaluation> Rosenbrock(const Lbfgs::Tensors& parameters) {
  const Tensor& x = parameters.at("x");
  const double* at = x.data<double>();
  Lbfgs::Evaluation found;
  Tensor gradient(DType::kFloat64, x.dims());
  double* slope = gradient.mutable_data<double>();
  std::fill_n(slope, x.num_elements(), 0.0);
  for (int64_t i = 0; i + 1 < x.num_elements(); ++i) {
    const double valley = at[i + 1] - at[i] * at[i], rest = 1 - at[i];
    found.loss += 100 * valley * valley + rest * rest;
    slope[i] += -400 * at[i] * valley - 2 * rest;
    slope[i + 1] += 200 * valley;
  }
  found.gradients["x"] = gradient;
  return found;
}

// A graph's loss and gradients, as a caller of the library has them.
class Mlp {
 public:
  explicit Mlp(const Arrays& arrays) {
    GraphBuilder builder("mlp");
    const auto input = [&](const char* name) {
      const DimsView dims = arrays.at(std::string("start/") + name).dims();
      return builder.Input(name, Type::Tensor(DType::kFloat64, Dims(dims.begin(), dims.end())));
    };
    const std::vector<Expr> p = {input("w1"), input("b1"), input("w2"), input("b2")};
    const Expr hidden = Tanh(MatMul(builder.Constant(arrays.at("data"), "data"), p[0]) + p[1]);
    const Expr loss = loss::MeanSquaredError(MatMul(hidden, p[2]) + p[3],
                                             builder.Constant(arrays.at("target"), "target"));
    const auto gradients =
        AddGradients(builder.graph(), loss.id(), {p[0].id(), p[1].id(), p[2].id(), p[3].id()});
    EXPECT_TRUE(gradients.ok()) << gradients.status();
    builder.Output("loss", loss);
    for (size_t i = 0; i < p.size(); ++i)
      builder.Output("gradient/" + builder.NameOf(p[i].id()), builder.Value((*gradients)[i]));
    auto session = Session::Create(*builder.Build());
    EXPECT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }

  absl::StatusOr<Lbfgs::Evaluation> operator()(const Lbfgs::Tensors& parameters) const {
    auto outputs = session_->Run({parameters.begin(), parameters.end()});
    if (!outputs.ok()) return outputs.status();
    Lbfgs::Evaluation found;
    found.loss = outputs->at("loss").tensor().data<double>()[0];
    for (const auto& [name, value] : parameters)
      found.gradients[name] = outputs->at("gradient/" + name).tensor();
    return found;
  }

 private:
  std::unique_ptr<Session> session_;
};

constexpr Lbfgs::LineSearch kWolfe = Lbfgs::LineSearch::kStrongWolfe;

struct Case {
  const char* name;
  Lbfgs::Options options;
};
const Case kCases[] = {
    {"rosenbrock", {.lr = 0.02, .max_iterations = 5}},
    {"rosenbrock_wolfe", {.max_iterations = 3, .line_search = kWolfe}},
    {"rosenbrock_few",
     {.max_iterations = 6, .max_evaluations = 4, .history = 2, .line_search = kWolfe}},
    {"mlp", {.lr = 0.1, .max_iterations = 4}},
    {"mlp_wolfe", {.max_iterations = 4, .line_search = kWolfe}},
    {"mlp_history", {.lr = 0.5, .max_iterations = 3, .history = 3, .line_search = kWolfe}},
    {"mlp_tolerance",
     {.tolerance_gradient = 3e-2, .tolerance_change = 1e-4, .line_search = kWolfe}},
};

class LbfgsTest : public ::testing::TestWithParam<Case> {};

TEST_P(LbfgsTest, IsPyTorchs) {
  const std::string name = GetParam().name;
  const auto arrays =
      files::ReadNpz(ONWARD_SOURCE_DIR "/tests/training/optimizers/cases/lbfgs_" + name + ".npz");
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  Lbfgs::Tensors parameters;
  for (const auto& [key, value] : *arrays)
    if (key.starts_with("start/")) parameters[key.substr(6)] = value;
  Lbfgs::Closure closure = Rosenbrock;
  if (name.starts_with("mlp"))
    closure = [mlp = std::make_shared<Mlp>(*arrays)](const auto& at) { return (*mlp)(at); };
  Lbfgs optimizer(GetParam().options);
  for (int64_t step = 0; step < 10; ++step) {
    SCOPED_TRACE(step);
    const auto loss = optimizer.Step(parameters, closure);
    ASSERT_TRUE(loss.ok()) << loss.status();
    const double want = arrays->at("loss").data<double>()[step];
    EXPECT_NEAR(*loss, want, 1e-5 * std::fabs(want));
    EXPECT_EQ(optimizer.evaluations(), arrays->at("evaluations").data<int64_t>()[step]);
    for (const auto& [key, value] : parameters) {
      const double* after = arrays->at("after/" + key).data<double>() + step * value.num_elements();
      for (int64_t i = 0; i < value.num_elements(); ++i)
        EXPECT_NEAR(value.data<double>()[i], after[i], 1e-5 * std::max(1.0, std::fabs(after[i])))
            << key << ", element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lbfgs, LbfgsTest, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

TEST(LbfgsErrorTest, ParametersStayAndTheNextStepStartsAnew) {
  Lbfgs optimizer({.line_search = kWolfe});
  Lbfgs::Tensors parameters = {{"x", Tensor::Of<double>({3}, {-1, 2, 1})}}, before = parameters;
  int calls = 0;
  const Lbfgs::Closure fails = [&](const auto& at) -> absl::StatusOr<Lbfgs::Evaluation> {
    if (++calls == 5) return absl::DataLossError("no batch");
    return Rosenbrock(at);
  };
  EXPECT_EQ(optimizer.Step(parameters, fails).status().message(), "no batch");
  EXPECT_TRUE(SameBits(parameters.at("x"), before.at("x")));
  ASSERT_TRUE(optimizer.Step(parameters, Rosenbrock).ok());
  Lbfgs fresh({.line_search = kWolfe});
  ASSERT_TRUE(fresh.Step(before, Rosenbrock).ok());
  EXPECT_TRUE(SameBits(parameters.at("x"), before.at("x")));
}

TEST(LbfgsErrorTest, Refusals) {
  Lbfgs::Tensors parameters = {{"x", Tensor::Of<double>({2}, {-1, 2})}};
  const auto error = [&](const Lbfgs::Options& options, const Lbfgs::Closure& closure) {
    return std::string(Lbfgs(options).Step(parameters, closure).status().message());
  };
  EXPECT_THAT(error({.lr = -1}, Rosenbrock), HasSubstr("lr is at least 0"));
  EXPECT_THAT(error({.history = 0}, Rosenbrock), HasSubstr("history is at least 1"));
  EXPECT_THAT(error({}, [](const auto&) { return Lbfgs::Evaluation(); }),
              HasSubstr("'x' has no gradient"));
  EXPECT_THAT(error({},
                    [](const auto&) {
                      return Lbfgs::Evaluation{1, {{"x", Tensor::Of<double>({1}, {1})}}};
                    }),
              HasSubstr("the gradient of 'x' has the shape [1], not [2]"));
  parameters["x"] = Tensor::Of<int64_t>({2}, {1, 2});
  EXPECT_THAT(error({}, Rosenbrock), HasSubstr("the value of 'x' is int64, not a float"));
}

}  // namespace
}  // namespace onward::training
