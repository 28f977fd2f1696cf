// QLinearConv over two axes whose data, result or both have their channels last.
#include "graph/fused/fused.h"

namespace onward::fused {
namespace {

std::vector<Expr> ChannelsLastConv(const FormulaCall& call) {
  Attributes attributes;
  for (const char* name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}) {
    if (call.Has(name)) attributes.Set(name, call.attributes().map().at(name));
  }
  std::vector<Expr> inputs;
  for (size_t i = 0; i < call.num_inputs(); ++i) inputs.push_back(call.input(i));
  if (call.Int("x_channels_last") != 0) inputs[0] = expr::Transpose(inputs[0], {0, 3, 1, 2});
  const Expr y = expr::Op("QLinearConv", inputs, std::move(attributes));
  return {call.Int("y_channels_last") != 0 ? expr::Transpose(y, {0, 2, 3, 1}) : y};
}

}  // namespace

std::vector<FormulaOp> QuantizedConvOps() {
  return {
      {"ChannelsLastConv <auto_pad: string = \"NOTSET\", dilations: ints?, group: int = 1, "
       "kernel_shape: ints?, pads: ints?, strides: ints?, x_channels_last: int = 0, "
       "y_channels_last: int = 0> "
       "(x: X, x_scale: F, x_zero_point: X, w: W, w_scale: F, w_zero_point: W, y_scale: F, "
       "y_zero_point: Y, B: I?) -> (y: Y) where X = int8|uint8, W = int8|uint8, Y = int8|uint8, "
       "F = float, I = int32",
       ChannelsLastConv}};
}

}  // namespace onward::fused
