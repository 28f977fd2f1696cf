// The gradient of SoftmaxCrossEntropyLoss from that of each label's loss: softmax less 1 at the
// label.
#include "graph/gradients/gradients.h"

namespace onward::gradients {
namespace {

using namespace expr;  // NOLINT: formulas

std::vector<Expr> SoftmaxCrossEntropyLossGradient(const FormulaCall& call) {
  const Expr dy = Unsqueeze(call.input(2), {1});
  return {Op("ScatterElements",
             {Softmax(call.input(0), 1) * dy, Unsqueeze(call.input(1), {1}), -dy},
             {{"axis", int64_t{1}}, {"reduction", std::string("add")}})};
}

}  // namespace

std::vector<FormulaOp> LossOps() {
  return {
      {"SoftmaxCrossEntropyLossGradient (scores: T, labels: L, dY: T) -> (dX: T)"
       " where T = float|double|float16|bfloat16, L = int32|int64",
       SoftmaxCrossEntropyLossGradient}};
}

}  // namespace onward::gradients
