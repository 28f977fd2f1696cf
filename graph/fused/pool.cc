// Pools over two axes of values that have their channels last.
#include "graph/fused/fused.h"

namespace onward::fused {
namespace {

std::vector<Expr> ChannelsLastMaxPool(const FormulaCall& call) {
  const Expr x = expr::Transpose(call.input(0), {0, 3, 1, 2});
  Attributes attributes = call.attributes();
  return {expr::Transpose(expr::Op("MaxPool", {x}, std::move(attributes)), {0, 2, 3, 1})};
}

// The means have their channels first: they are few.
std::vector<Expr> ChannelsLastGlobalAveragePool(const FormulaCall& call) {
  const Expr x = Cast(expr::Transpose(call.input(0), {0, 3, 1, 2}), DType::kFloat32);
  return {expr::Op("GlobalAveragePool", {x})};
}

}  // namespace

std::vector<FormulaOp> PoolOps() {
  return {
      {"ChannelsLastMaxPool <auto_pad: string = \"NOTSET\", ceil_mode: int = 0, dilations: ints?, "
       "kernel_shape: ints, pads: ints?, strides: ints?> (x: T) -> (y: T) "
       "where T = int8|uint8|float|bfloat16",
       ChannelsLastMaxPool},
      {"ChannelsLastGlobalAveragePool (x: T) -> (y: F) where T = float|bfloat16, F = float",
       ChannelsLastGlobalAveragePool}};
}

}  // namespace onward::fused
