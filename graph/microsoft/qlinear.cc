// Ops between quantized tensors: dequantized to float32, computed, quantized again. ONNX Runtime
// rounds the sums of QLinearAdd and the averages of QLinearGlobalAveragePool once less, and its
// QLinearSoftmax reads a table: those may differ by one unit.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/microsoft/quantized.h"

namespace onward::microsoft {

std::vector<int64_t> ChannelsFirst(int64_t rank) {
  std::vector<int64_t> perm = {0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i) perm.push_back(i);
  return perm;
}

std::vector<int64_t> ChannelsLast(int64_t rank) {
  std::vector<int64_t> perm = {0};
  for (int64_t i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}

namespace {

// The quantized input whose first of (x, scale, zero point) is `first`.
Expr Input(const FormulaCall& call, size_t first) {
  return Dequantize(call.input(first), call.input(first + 1), call.input(first + 2));
}
// By the output's scale and zero point at `first`.
Expr Output(const FormulaCall& call, const Expr& y, size_t first) {
  return Quantize(y, call.input(first), call.input(first + 1), call.input(0).dtype());
}

std::vector<Expr> QLinearAdd(const FormulaCall& call) {
  return {Output(call, Input(call, 0) + Input(call, 3), 6)};
}

std::vector<Expr> QLinearMul(const FormulaCall& call) {
  return {Output(call, Input(call, 0) * Input(call, 3), 6)};
}

std::vector<Expr> QLinearSigmoid(const FormulaCall& call) {
  return {Output(call, Sigmoid(Input(call, 0)), 3)};
}

std::vector<Expr> QLinearLeakyRelu(const FormulaCall& call) {
  return {Output(call, Op("LeakyRelu", {Input(call, 0)}, {{"alpha", call.Float("alpha")}}), 3)};
}

// Below opset 13 over all axes from `axis` on.
std::vector<Expr> QLinearSoftmax(const FormulaCall& call) {
  const Expr x = Input(call, 0);
  const int64_t axis = call.Int("axis");
  if (call.Int("opset") >= 13) return {Output(call, Softmax(x, axis), 3)};
  const Expr rows = Softmax(Op("Flatten", {x}, {{"axis", axis}}), -1);
  return {Output(call, Reshape(rows, Shape(x), /*allow_zero=*/true), 3)};
}

std::vector<Expr> QLinearWhere(const FormulaCall& call) {
  const Expr z = Where(call.input(0), Input(call, 1), Input(call, 4));
  return {Quantize(z, call.input(7), call.input(8), call.input(1).dtype())};
}

// Inputs: y_scale, y_zero_point, then (x, scale, zero point) of each part.
std::vector<Expr> QLinearConcat(const FormulaCall& call) {
  if (call.num_inputs() < 5 || call.num_inputs() % 3 != 2) {
    call.Fail(absl::StrCat("QLinearConcat has ", call.num_inputs(),
                           " inputs; a scale, a zero point and three for each part are needed"));
    return {};
  }
  std::vector<Expr> parts;
  for (size_t i = 2; i < call.num_inputs(); i += 3) {
    const Expr part = Input(call, i);
    parts.push_back(Quantize(part, call.input(0), call.input(1), call.input(1).dtype()));
  }
  return {Concat(parts, call.Int("axis"))};
}

std::vector<Expr> QLinearAveragePool(const FormulaCall& call) {
  Attributes attributes = call.attributes();
  const bool last = call.Int("channels_last") != 0;
  attributes.Erase("channels_last");
  const int64_t rank = last ? call.Rank(0) : 0;
  Expr x = Input(call, 0);
  if (last) x = Transpose(x, ChannelsFirst(rank));
  x = Op("AveragePool", {x}, std::move(attributes));
  if (last) x = Transpose(x, ChannelsLast(rank));
  return {Output(call, x, 3)};
}

std::vector<Expr> QLinearGlobalAveragePool(const FormulaCall& call) {
  const int64_t rank = call.Rank(0);
  if (rank < 3) {
    call.Fail(absl::StrCat("the input has rank ", rank, ", at least 3 is needed"));
    return {};
  }
  std::vector<int64_t> axes(static_cast<size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), call.Int("channels_last") != 0 ? 1 : 2);
  return {Output(call, ReduceMean(Input(call, 0), axes), 3)};
}

std::vector<Expr> QLinearReduceMean(const FormulaCall& call) {
  const std::vector<int64_t> axes = call.attributes().Ints("axes");
  return {Output(call, ReduceMean(Input(call, 0), axes, call.Int("keepdims") != 0), 3)};
}

std::vector<Expr> QLinearConv(const FormulaCall& call) {
  Attributes attributes = call.attributes();
  const bool last = call.Int("channels_last") != 0;
  attributes.Erase("channels_last");
  const int64_t rank = last ? call.Rank(0) : 0;
  std::vector<Expr> inputs;
  for (size_t i = 0; i < call.num_inputs(); ++i) inputs.push_back(call.input(i));
  if (last) inputs[0] = Transpose(inputs[0], ChannelsFirst(rank));
  const Expr y = Op("QLinearConv", inputs, std::move(attributes));
  return {last ? Transpose(y, ChannelsLast(rank)) : y};
}

}  // namespace

std::vector<FormulaOp> QLinearOps() {
  return {
      {"QLinearAdd (A: T, A_scale: F, A_zero_point: T?, B: T, B_scale: F, B_zero_point: T?, "
       "C_scale: F, C_zero_point: T?) -> (C: T) where T = int8|uint8, F = float",
       QLinearAdd},
      {"QLinearMul (A: T, A_scale: F, A_zero_point: T?, B: T, B_scale: F, B_zero_point: T?, "
       "C_scale: F, C_zero_point: T?) -> (C: T) where T = int8|uint8, F = float",
       QLinearMul},
      {"QLinearSigmoid (X: T, X_scale: F, X_zero_point: T?, Y_scale: F, Y_zero_point: T?) "
       "-> (Y: T) where T = int8|uint8, F = float",
       QLinearSigmoid},
      {"QLinearLeakyRelu <alpha: float = 0.01> (X: T, X_scale: F, X_zero_point: T?, Y_scale: F, "
       "Y_zero_point: T?) -> (Y: T) where T = int8|uint8, F = float",
       QLinearLeakyRelu},
      {"QLinearSoftmax <axis: int = -1, opset: int> (X: T, X_scale: F, x_zero_point: T?, "
       "y_scale: F, y_zero_point: T) -> (Y: T) where T = int8|uint8, F = float",
       QLinearSoftmax},
      {"QLinearWhere (condition: B, X: T, x_scale: F, x_zero_point: T, Y: T, y_scale: F, "
       "y_zero_point: T, z_scale: F, z_zero_point: T) -> (Z: T) "
       "where B = bool, T = int8|uint8, F = float",
       QLinearWhere},
      {"QLinearConcat <axis: int> (Y_scale: F, Y_zero_point: T, inputs: V...) -> (Y: T) "
       "where T = int8|uint8, F = float, V = int8|uint8|float",
       QLinearConcat},
      {"QLinearAveragePool <auto_pad: string = \"NOTSET\", ceil_mode: int = 0, channels_last: int "
       "= 0, count_include_pad: int = 0, kernel_shape: ints, pads: ints?, strides: ints?> (X: T, "
       "x_scale: F, x_zero_point: T?, y_scale: F, y_zero_point: T?) -> (Y: T) "
       "where T = int8|uint8, F = float",
       QLinearAveragePool},
      {"QLinearGlobalAveragePool <channels_last: int = 0> (X: T, x_scale: F, x_zero_point: T, "
       "y_scale: F, y_zero_point: T) -> (Y: T) where T = int8|uint8, F = float",
       QLinearGlobalAveragePool},
      {"QLinearReduceMean <axes: ints, keepdims: int> (data: T, data_scale: F, data_zero_point: "
       "T?, reduced_scale: F, reduced_zero_point: T?) -> (reduced: T) "
       "where T = int8|uint8, F = float",
       QLinearReduceMean},
      {"QLinearConv <auto_pad: string = \"NOTSET\", channels_last: int = 0, dilations: ints?, "
       "group: int = 1, kernel_shape: ints?, pads: ints?, strides: ints?> (x: P, x_scale: F, "
       "x_zero_point: P, w: Q, w_scale: F, w_zero_point: Q, y_scale: F, y_zero_point: Y, B: I?) "
       "-> (y: Y) where P = int8|uint8, Q = int8|uint8, Y = int8|uint8, F = float, I = int32",
       QLinearConv},
  };
}

}  // namespace onward::microsoft
