// Softmax of a sum.
#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {
namespace {

// Over all axes from `axis` on together. Bias broadcasts by the standard's rules: along axes of
// size 1 when is_inner_broadcast is set, else along leading axes that it lacks.
std::vector<Expr> BiasSoftmax(const FormulaCall& call) {
  const Expr sum = call.input(0) + call.input(1);
  const int64_t rank = call.Rank(0);
  const int64_t axis = call.Int("axis") < 0 ? call.Int("axis") + rank : call.Int("axis");
  if (axis == rank - 1) return {Softmax(sum, -1)};
  const Expr rows = Op("Flatten", {sum}, {{"axis", axis}});
  return {Reshape(Softmax(rows, 1), Shape(sum), /*allow_zero=*/true)};
}

}  // namespace

std::vector<FormulaOp> SoftmaxOps() {
  return {
      {"BiasSoftmax <axis: int = 1, is_inner_broadcast: int> (data: T, bias: T) -> (output: T)"
       " where T = float16|float|double",
       BiasSoftmax},
  };
}

}  // namespace onward::microsoft
