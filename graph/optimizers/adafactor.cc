// Adafactor (Shazeer and Stern, 2018), as PyTorch words it: the second moment of a matrix is kept
// as its means along rows and columns.
#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

Expr RootMeanSquare(const Expr& x) { return Sqrt(ReduceMean(x * x, {}, false)); }

// eps1 bounds the variance, eps2 the parameter's scale. State: of a parameter of rank 2 and more
// the means of squares along the last and the second last axis, else those of each element.
std::vector<Expr> AdafactorStep(const FormulaCall& call) {
  const StepCall s(call, AdafactorStep);
  const Expr rate = s.setting("lr"), step = s.step(), epsilon1 = s.setting("eps1"),
             g = s.gradient();
  const Expr weight = Pow(step, s.setting("beta2_decay"));
  const Expr relative = Min(rate, 1.0 / Sqrt(step));
  const Expr scale = Max(s.Scalar(s.setting("eps2")), RootMeanSquare(s.parameter()));
  const Expr p = s.Shrunk(rate, s.setting("weight_decay"));
  std::vector<Expr> next(1);
  Expr variance;
  if (s.rank() > 1) {
    const Expr rows = s.Lerp(s.state(0), ReduceMean(g * g, {-1}), weight);
    const Expr columns = s.Lerp(s.state(1), ReduceMean(g * g, {-2}), weight);
    next.insert(next.end(), {rows, columns});
    variance = rows * columns / Max(ReduceMean(rows, {-2}), s.Scalar(epsilon1));
  } else {
    variance = s.Lerp(s.state(0), g * g, weight);
    next.push_back(variance);
  }
  const Expr change = g / Sqrt(Max(variance, s.Scalar(epsilon1 * epsilon1)));
  const Expr excess = Max(s.Scalar(1.0), RootMeanSquare(change) / s.Scalar(s.setting("d")));
  next[0] = p - scale * s.Scalar(relative) / excess * change;
  return next;
}

std::vector<OptimizerState> AdafactorStates(const OptimizerOptions&, const Type& parameter) {
  const Dims dims = *parameter.static_dims();
  if (dims.size() < 2) return {Zeros("squares", parameter)};
  Dims rows = dims, columns = dims;
  rows.back() = 1;
  columns[dims.size() - 2] = 1;
  return {{"rows", Filled(parameter.dtype, rows, 0)},
          {"columns", Filled(parameter.dtype, columns, 0)}};
}

constexpr FormulaOp kAdafactorStep = {
    "AdafactorStep <maximize: int = 0>"
    " (parameter: T, gradient: T, settings: D, step: I, rows: T, columns: T?)"
    " -> (next_parameter: T, next_rows: T, next_columns: T?)"
    " where T = float|double|float16|bfloat16, D = double, I = int64",
    AdafactorStep};

}  // namespace

std::vector<OptimizerEntry> AdafactorEntries() {
  return {
      {.name = "Adafactor",
       .op = kAdafactorStep,
       .settings = {Number("lr", 1e-2),
                    {"beta2_decay", -0.8, -kInfinity, 0},
                    Number("eps1", std::numeric_limits<float>::epsilon()),
                    Number("eps2", 1e-3),
                    {"d", 1, 1, kInfinity},
                    Number("weight_decay", 0)},
       .switches = {kMaximize},
       .states = AdafactorStates},
  };
}

}  // namespace onward::optimizers
