// activation(Conv(X, W, B) + Z), where Z has the shape of the result; and a pointwise convolution
// whose result a depthwise one alone reads.
#include "graph/fused/fused.h"

namespace onward::fused {
namespace {

Attributes ConvAttributesOf(const FormulaCall& call) {
  Attributes attributes;
  for (const char* name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}) {
    if (call.Has(name)) attributes.Set(name, call.attributes().map().at(name));
  }
  return attributes;
}

std::vector<Expr> FusedConv(const FormulaCall& call) {
  const Expr product =
      expr::Op("Conv", {call.input(0), call.input(1), call.input(2)}, ConvAttributesOf(call));
  return {Activated(call, call.has_input(3) ? product + call.input(3) : product)};
}

std::vector<Expr> PointwiseDepthwiseConv(const FormulaCall& call) {
  const Expr pointwise = Activated(
      call, expr::Op("Conv", {call.input(0), call.input(2), call.input(4)}, {}), "pointwise_");
  return {Activated(
      call, expr::Op("Conv", {pointwise, call.input(1), call.input(3)}, ConvAttributesOf(call)))};
}

}  // namespace

std::vector<FormulaOp> ConvOps() {
  return {
      {"FusedConv <auto_pad: string = \"NOTSET\", dilations: ints?, group: int = 1, "
       "kernel_shape: ints?, pads: ints?, strides: ints?, activation: string = \"\", "
       "activation_alpha: float = 0, activation_beta: float = 0> "
       "(X: T, W: T, B: T?, Z: T?) -> (Y: T) where T = float16|float|double|bfloat16",
       FusedConv},
      {"PointwiseDepthwiseConv <auto_pad: string = \"NOTSET\", dilations: ints?, group: int = 1, "
       "kernel_shape: ints?, pads: ints?, strides: ints?, activation: string = \"\", "
       "activation_alpha: float = 0, activation_beta: float = 0, "
       "pointwise_activation: string = \"\", pointwise_activation_alpha: float = 0, "
       "pointwise_activation_beta: float = 0> "
       "(X: T, W: T, V: T, B: T?, A: T?) -> (Y: T) where T = float16|float|double|bfloat16",
       PointwiseDepthwiseConv}};
}

}  // namespace onward::fused
