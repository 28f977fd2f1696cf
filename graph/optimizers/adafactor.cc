// Adafactor (Shazeer and Stern, 2018), as PyTorch words it: the second moment of a matrix is kept
// as its means along rows and columns.
#include "graph/optimizers/optimizers.h"

namespace onward::optimizers {
namespace {

Expr RootMeanSquare(const Expr& x) { return Sqrt(ReduceMean(x * x, {}, false)); }

// Settings: rate, second_moment_decay, epsilon1, epsilon2, clip, weight_decay. epsilon1 bounds the
// variance, epsilon2 the parameter's scale. State: of a parameter of rank 2 and more the means of
// squares along the last and the second last axis, else those of each element.
std::vector<Expr> AdafactorStep(const FormulaCall& call) {
  const StepCall s(call);
  const Expr rate = s.setting(0), step = s.step(), epsilon1 = s.setting(2), g = s.gradient();
  const Expr weight = Pow(step, s.setting(1));
  const Expr relative = Min(rate, 1.0 / Sqrt(step));
  const Expr scale = Max(s.Scalar(s.setting(3)), RootMeanSquare(s.parameter()));
  const Expr p = s.Shrunk(rate, s.setting(5));
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
  const Expr excess = Max(s.Scalar(1.0), RootMeanSquare(change) / s.Scalar(s.setting(4)));
  next[0] = p - scale * s.Scalar(relative) / excess * change;
  return next;
}

}  // namespace

std::vector<FormulaOp> AdafactorOps() {
  return {
      {"AdafactorStep <maximize: int = 0>"
       " (parameter: T, gradient: T, settings: D, step: I, rows: T, columns: T?)"
       " -> (next_parameter: T, next_rows: T, next_columns: T?)"
       " where T = float|double|float16|bfloat16, D = double, I = int64",
       AdafactorStep},
  };
}

}  // namespace onward::optimizers
