// The normalization of a sum, and the sum, which the network reads again.
#include "graph/fused/fused.h"

namespace onward::fused {
namespace {

std::vector<Expr> Normalized(const FormulaCall& call, std::string_view normalization) {
  const Expr sum = call.input(0) + call.input(1);
  return {expr::Op(normalization, {sum, call.input(2), call.input(3)}, call.attributes()), sum};
}

std::vector<Expr> AddLayerNormalization(const FormulaCall& call) {
  return Normalized(call, "LayerNormalization");
}

std::vector<Expr> AddRMSNormalization(const FormulaCall& call) {
  return Normalized(call, "RMSNormalization");
}

}  // namespace

std::vector<FormulaOp> NormalizationOps() {
  return {{"AddLayerNormalization <axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1> "
           "(X: T, Z: T, Scale: T, B: T?) -> (Y: T, Sum: T?) "
           "where T = float16|float|double|bfloat16",
           AddLayerNormalization},
          {"AddRMSNormalization <axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1> "
           "(X: T, Z: T, Scale: T) -> (Y: T, Sum: T?) "
           "where T = float16|float|double|bfloat16",
           AddRMSNormalization}};
}

}  // namespace onward::fused
