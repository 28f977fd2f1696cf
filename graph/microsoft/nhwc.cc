// Convolution and pooling with channels in the last axis; weights lie as for Conv.
#include "graph/microsoft/quantized.h"

namespace onward::microsoft {
namespace {

// `op` between transposes of its first input and of its output.
std::vector<Expr> ChannelsInLastAxis(std::string_view op, const FormulaCall& call) {
  const int64_t rank = call.Rank(0);
  if (rank < 3) {
    call.Fail("the input has no spatial axis");
    return {};
  }
  std::vector<Expr> inputs = {Transpose(call.input(0), ChannelsFirst(rank))};
  for (size_t i = 1; i < call.num_inputs(); ++i) inputs.push_back(call.input(i));
  return {Transpose(Op(op, inputs, call.attributes()), ChannelsLast(rank))};
}

std::vector<Expr> NhwcConv(const FormulaCall& call) { return ChannelsInLastAxis("Conv", call); }
std::vector<Expr> NhwcMaxPool(const FormulaCall& call) {
  return ChannelsInLastAxis("MaxPool", call);
}

}  // namespace

std::vector<FormulaOp> NhwcOps() {
  return {
      {"NhwcConv <auto_pad: string = \"NOTSET\", dilations: ints?, group: int = 1, kernel_shape: "
       "ints?, pads: ints?, strides: ints?> (X: T, W: T, B: T?) -> (Y: T) "
       "where T = float16|float|double",
       NhwcConv},
      {"NhwcMaxPool <auto_pad: string = \"NOTSET\", ceil_mode: int = 0, dilations: ints?, "
       "kernel_shape: ints, pads: ints?, strides: ints?> (x: T) -> (y: T) where T = int8|uint8",
       NhwcMaxPool},
  };
}

}  // namespace onward::microsoft
