// The gradient of MaxPool: each output's goes to the first largest element of its window.
#include "graph/gradients/gradients.h"

namespace onward::gradients {
namespace {

using namespace expr;  // NOLINT: formulas

std::vector<Expr> MaxPoolGradient(const FormulaCall& call) {
  const Expr dy = call.input(1), x = Saved(call.input(0), dy);
  const Expr indices = Ops("MaxPool", {x}, 2, call.attributes())[1];
  const Expr zeros = Expand(ScalarLike(x, 0), Reshape(Op("Size", {x}), {1}));
  const Expr sums = Op("ScatterElements", {zeros, Reshape(indices, {-1}), Reshape(dy, {-1})},
                       {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  return {Reshape(sums, Shape(x), true)};
}

}  // namespace

std::vector<FormulaOp> PoolOps() {
  return {
      {"MaxPoolGradient <kernel_shape: ints, auto_pad: string = \"NOTSET\", ceil_mode: int = 0,"
       " dilations: ints?, pads: ints?, strides: ints?> (X: S, dY: T) -> (dX: T)"
       " where S = float|double|float16|bfloat16, T = float|double|float16|bfloat16",
       MaxPoolGradient}};
}

}  // namespace onward::gradients
