// activation(Conv(X, W, B) + Z), where Z has the shape of the result, and a pointwise convolution
// whose result a depthwise one alone reads; the same of images with their channels last.
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

Expr ToFirst(const Expr& last) {
  return Cast(expr::Transpose(last, {0, 3, 1, 2}), DType::kFloat32);
}

// X has its channels last where it is of Y's type.
std::vector<Expr> ChannelsLastFusedConv(const FormulaCall& call) {
  const DType dtype = ImageType(call);
  const bool comes_last = call.input(0).dtype() == dtype;
  const Expr x = comes_last ? ToFirst(call.input(0)) : call.input(0);
  Expr y = expr::Op("Conv", {x, call.input(1), call.input(2)}, ConvAttributesOf(call));
  if (call.has_input(3)) y = y + ToFirst(call.input(3));
  return {Cast(expr::Transpose(Activated(call, y), {0, 2, 3, 1}), dtype)};
}

Expr PointwiseDepthwise(const FormulaCall& call, const Expr& x) {
  const Expr pointwise =
      Activated(call, expr::Op("Conv", {x, call.input(2), call.input(4)}, {}), "pointwise_");
  return Activated(
      call, expr::Op("Conv", {pointwise, call.input(1), call.input(3)}, ConvAttributesOf(call)));
}

std::vector<Expr> PointwiseDepthwiseConv(const FormulaCall& call) {
  return {PointwiseDepthwise(call, call.input(0))};
}

std::vector<Expr> ChannelsLastPointwiseDepthwiseConv(const FormulaCall& call) {
  return {expr::Transpose(PointwiseDepthwise(call, ToFirst(call.input(0))), {0, 2, 3, 1})};
}

}  // namespace

std::vector<FormulaOp> ConvOps() {
  return {
      {"FusedConv <auto_pad: string = \"NOTSET\", dilations: ints?, group: int = 1, "
       "kernel_shape: ints?, pads: ints?, strides: ints?, activation: string = \"\", "
       "activation_alpha: float = 0, activation_beta: float = 0> "
       "(X: T, W: T, B: T?, Z: T?) -> (Y: T) where T = float16|float|double|bfloat16",
       FusedConv},
      {"ChannelsLastFusedConv <auto_pad: string = \"NOTSET\", dilations: ints?, group: int = 1, "
       "kernel_shape: ints?, pads: ints?, strides: ints?, activation: string = \"\", "
       "activation_alpha: float = 0, activation_beta: float = 0, dtype: int = 16> "
       "(X: T, W: F, B: F?, Z: Y?) -> (Y: Y) "
       "where T = float|bfloat16, F = float, Y = float|bfloat16",
       ChannelsLastFusedConv},
      {"ChannelsLastPointwiseDepthwiseConv <auto_pad: string = \"NOTSET\", dilations: ints?, "
       "group: int = 1, kernel_shape: ints?, pads: ints?, strides: ints?, "
       "activation: string = \"\", activation_alpha: float = 0, activation_beta: float = 0, "
       "pointwise_activation: string = \"\", pointwise_activation_alpha: float = 0, "
       "pointwise_activation_beta: float = 0> "
       "(X: T, W: T, V: T, B: T?, A: T?) -> (Y: T) where T = float",
       ChannelsLastPointwiseDepthwiseConv},
      {"PointwiseDepthwiseConv <auto_pad: string = \"NOTSET\", dilations: ints?, group: int = 1, "
       "kernel_shape: ints?, pads: ints?, strides: ints?, activation: string = \"\", "
       "activation_alpha: float = 0, activation_beta: float = 0, "
       "pointwise_activation: string = \"\", pointwise_activation_alpha: float = 0, "
       "pointwise_activation_beta: float = 0> "
       "(X: T, W: T, V: T, B: T?, A: T?) -> (Y: T) where T = float16|float|double|bfloat16",
       PointwiseDepthwiseConv}};
}

}  // namespace onward::fused
