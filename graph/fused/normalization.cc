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

// The result in 16 bits, of float or of its sum with what may have 16.
std::vector<Expr> Narrow(const FormulaCall& call, std::string_view normalization) {
  Expr sum = call.input(0);
  if (call.has_input(1)) sum = sum + Cast(call.input(1), DType::kFloat32);
  Attributes attributes = call.attributes();
  attributes.Erase("to");
  const Expr y =
      expr::Op(normalization, {sum, call.input(2), call.input(3)}, std::move(attributes));
  return {Cast(y, static_cast<DType>(call.Int("to"))), sum};
}

std::vector<Expr> NarrowLayerNormalization(const FormulaCall& call) {
  return Narrow(call, "LayerNormalization");
}

std::vector<Expr> NarrowRMSNormalization(const FormulaCall& call) {
  return Narrow(call, "RMSNormalization");
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
           AddRMSNormalization},
          {"NarrowLayerNormalization <axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1, "
           "to: int> (X: T, Z: S?, Scale: T, B: T?) -> (Y: R, Sum: T?) "
           "where T = float, S = float|float16|bfloat16, R = float16|bfloat16",
           NarrowLayerNormalization},
          {"NarrowRMSNormalization <axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1, "
           "to: int> (X: T, Z: S?, Scale: T) -> (Y: R, Sum: T?) "
           "where T = float, S = float|float16|bfloat16, R = float16|bfloat16",
           NarrowRMSNormalization}};
}

}  // namespace onward::fused
