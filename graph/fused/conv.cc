// activation(Conv(X, W, B) + Z), where Z has the shape of the result.
#include "graph/fused/fused.h"

namespace onward::fused {
namespace {

std::vector<Expr> FusedConv(const FormulaCall& call) {
  Attributes attributes;
  for (const char* name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}) {
    if (call.Has(name)) attributes.Set(name, call.attributes().map().at(name));
  }
  const Expr product = expr::Op("Conv", {call.input(0), call.input(1), call.input(2)}, attributes);
  return {Activated(call, call.has_input(3) ? product + call.input(3) : product)};
}

}  // namespace

std::vector<FormulaOp> ConvOps() {
  return {
      {"FusedConv <auto_pad: string = \"NOTSET\", dilations: ints?, group: int = 1, "
       "kernel_shape: ints?, pads: ints?, strides: ints?, activation: string = \"\", "
       "activation_alpha: float = 0, activation_beta: float = 0> "
       "(X: T, W: T, B: T?, Z: T?) -> (Y: T) where T = float16|float|double|bfloat16",
       FusedConv}};
}

}  // namespace onward::fused
