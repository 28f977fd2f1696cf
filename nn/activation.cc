#include "onward/nn/activation.h"

#include "absl/strings/str_cat.h"
#include "nn/shape_of.h"
#include "onward/nn/dropout.h"

namespace onward::nn {
namespace {

Attributes Alpha(double value) { return {{"alpha", static_cast<float>(value)}}; }

Expr Positive(const Expr& x) { return Greater(x, ScalarLike(x, 0)); }

}  // namespace

Expr ReLU::operator()(const Expr& x) const { return Relu(x); }
Expr ReLU6::operator()(const Expr& x) const { return Clip(x, ScalarLike(x, 0), ScalarLike(x, 6)); }
Expr LeakyReLU::operator()(const Expr& x) const { return Op("LeakyRelu", {x}, Alpha(slope)); }
Expr RReLU::operator()(const Expr& x) const {
  if (!x.valid()) return {};
  const Expr drawn = Op("RandomUniformLike", {x},
                        {{"low", static_cast<float>(lower)}, {"high", static_cast<float>(upper)}});
  const Expr slope = Where(IsTraining(*x.sink()), drawn, ScalarLike(x, (lower + upper) / 2));
  return Where(Positive(x), x, x * slope);
}
Expr ELU::operator()(const Expr& x) const { return Op("Elu", {x}, Alpha(alpha)); }
// The standard's defaults are PyTorch's constants in float; in double they are written out.
Expr SELU::operator()(const Expr& x) const {
  if (x.dtype() != DType::kFloat64) return Op("Selu", {x});
  const double alpha = 1.6732632423543772848170429916717;
  const double scale = 1.0507009873554804934193349852946;
  const Expr low = (Exp(Min(x, ScalarLike(x, 0))) - 1.0) * alpha;
  return Where(Positive(x), x, low) * scale;
}
Expr CELU::operator()(const Expr& x) const { return Op("Celu", {x}, Alpha(alpha)); }
Expr GELU::operator()(const Expr& x) const { return Gelu(x, tanh ? "tanh" : "none"); }
Expr SiLU::operator()(const Expr& x) const { return x * expr::Sigmoid(x); }
Expr Mish::operator()(const Expr& x) const { return Op("Mish", {x}); }
Expr Sigmoid::operator()(const Expr& x) const { return expr::Sigmoid(x); }
Expr LogSigmoid::operator()(const Expr& x) const { return -Op("Softplus", {-x}); }
Expr Tanh::operator()(const Expr& x) const { return expr::Tanh(x); }
Expr Tanhshrink::operator()(const Expr& x) const { return x - expr::Tanh(x); }
Expr Hardtanh::operator()(const Expr& x) const {
  return Clip(x, ScalarLike(x, low), ScalarLike(x, high));
}
Expr Hardsigmoid::operator()(const Expr& x) const {
  return Clip(x + 3.0, ScalarLike(x, 0), ScalarLike(x, 6)) / 6.0;
}
Expr Hardswish::operator()(const Expr& x) const {
  if (x.dtype() != DType::kFloat64) return Op("HardSwish", {x});
  return x * Hardsigmoid()(x);
}
Expr Hardshrink::operator()(const Expr& x) const {
  return Where(Greater(Abs(x), ScalarLike(x, lambda)), x, ScalarLike(x, 0));
}
Expr Softshrink::operator()(const Expr& x) const {
  const Expr zero = ScalarLike(x, 0);
  return Where(Greater(x, ScalarLike(x, lambda)), x - lambda,
               Where(Less(x, ScalarLike(x, -lambda)), x + lambda, zero));
}
Expr Softplus::operator()(const Expr& x) const {
  const Expr scaled = beta == 1 ? x : x * beta;
  const Expr limit = ScalarLike(x, threshold);
  const Expr soft = Op("Softplus", {Min(scaled, limit)});
  return Where(Greater(scaled, limit), x, beta == 1 ? soft : soft / beta);
}
Expr Softsign::operator()(const Expr& x) const { return x / (Abs(x) + 1.0); }
Expr Threshold::operator()(const Expr& x) const {
  return Where(Greater(x, ScalarLike(x, threshold)), x, ScalarLike(x, value));
}
Expr Softmax::operator()(const Expr& x) const { return expr::Softmax(x, axis); }
Expr Softmin::operator()(const Expr& x) const { return expr::Softmax(-x, axis); }
Expr LogSoftmax::operator()(const Expr& x) const { return expr::LogSoftmax(x, axis); }
Expr GLU::operator()(const Expr& x) const {
  const std::vector<Expr> halves =
      Ops("Split", {x}, 2, {{"axis", axis}, {"num_outputs", int64_t{2}}});
  return halves[0] * expr::Sigmoid(halves[1]);
}

PReLU::PReLU(Module& parent, std::string_view name, int64_t count, double slope)
    : Layer(parent, name) {
  weight = AddParameter("weight", {count}, init::Constant(slope));
}

Expr PReLU::Forward(const Expr& x) {
  const int64_t rank = KnownRank(x, "PReLU");
  if (rank <= 2 || !weight.valid()) return Op("PRelu", {x, weight});
  std::vector<int64_t> shape(static_cast<size_t>(rank - 1), 1);
  shape[0] = -1;
  return Op("PRelu", {x, Reshape(weight, shape)});
}

Function ActivationByName(std::string_view name) {
  const struct {
    std::string_view name;
    Function function;
  } rows[] = {
      {"relu", ReLU()},
      {"relu6", ReLU6()},
      {"elu", ELU()},
      {"selu", SELU()},
      {"celu", CELU()},
      {"gelu", GELU()},
      {"gelu_tanh", GELU{true}},
      {"silu", SiLU()},
      {"swish", SiLU()},
      {"mish", Mish()},
      {"sigmoid", Sigmoid()},
      {"tanh", Tanh()},
      {"leaky_relu", LeakyReLU()},
      {"hardtanh", Hardtanh()},
      {"hardsigmoid", Hardsigmoid()},
      {"hardswish", Hardswish()},
      {"softplus", Softplus()},
      {"softsign", Softsign()},
      {"identity", [](const Expr& x) { return x; }},
  };
  for (const auto& row : rows) {
    if (row.name == name) return row.function;
  }
  return nullptr;
}

}  // namespace onward::nn
