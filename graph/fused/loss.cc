// The loss over classes of scores of 16 bits, in float: what a Cast before it would compute.
#include "graph/fused/fused.h"

namespace onward::fused {
namespace {

std::vector<Expr> WideSoftmaxCrossEntropyLoss(const FormulaCall& call) {
  const Expr scores = Cast(call.input(0), DType::kFloat32);
  return {expr::Op("SoftmaxCrossEntropyLoss", {scores, call.input(1)}, call.attributes())};
}

}  // namespace

std::vector<FormulaOp> LossOps() {
  return {
      {"WideSoftmaxCrossEntropyLoss <ignore_index: int?, reduction: string = \"mean\">"
       " (scores: S, labels: L) -> (Y: T)"
       " where S = float16|bfloat16, L = int32|int64, T = float",
       WideSoftmaxCrossEntropyLoss}};
}

}  // namespace onward::fused
