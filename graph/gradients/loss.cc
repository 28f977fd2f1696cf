// The gradient of SoftmaxCrossEntropyLoss from that of each label's loss: softmax less 1 at the
// label.
#include "graph/gradients/gradients.h"

namespace onward::gradients {
namespace {

using namespace expr;  // NOLINT: formulas

std::vector<Expr> SoftmaxCrossEntropyLossGradient(const FormulaCall& call) {
  const Expr scores = call.input(0), dy = Unsqueeze(call.input(2), {1});
  const Expr softmax = Softmax(Saved(scores, dy), 1);
  return {Saved(Op("ScatterElements", {softmax * dy, Unsqueeze(call.input(1), {1}), -dy},
                   {{"axis", int64_t{1}}, {"reduction", std::string("add")}}),
                scores)};
}

}  // namespace

std::vector<FormulaOp> LossOps() {
  return {
      {"SoftmaxCrossEntropyLossGradient (scores: S, labels: L, dY: T) -> (dX: S)"
       " where S = float|double|float16|bfloat16, L = int32|int64,"
       " T = float|double|float16|bfloat16",
       SoftmaxCrossEntropyLossGradient}};
}

}  // namespace onward::gradients
