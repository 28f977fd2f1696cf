// Quantization and products of quantized matrices. Sums of products are exact in int32; they are
// scaled in float32, and a quantized result rounds half to even before its zero point is added.
#include "absl/strings/str_cat.h"
#include "graph/microsoft/quantized.h"
#include "graph/ops/onward_schemas.h"

namespace onward::microsoft {
namespace {

std::vector<Expr> QuantizeLinear(const FormulaCall& call) {
  Attributes attributes;
  if (call.Has("axis")) attributes.Set("axis", call.Int("axis"));
  return {Op("QuantizeLinear", {call.input(0), call.input(1), call.input(2)}, attributes)};
}

std::vector<Expr> DequantizeLinear(const FormulaCall& call) {
  Attributes attributes;
  if (call.Has("axis")) attributes.Set("axis", call.Int("axis"));
  return {Op("DequantizeLinear", {call.input(0), call.input(1), call.input(2)}, attributes)};
}

// (a - a_zero) (b - b_zero) * (a_scale * b_scale) + bias, rounded to the scales' dtype at the end.
Expr ScaledProduct(const Expr& a, const Expr& b, const Expr& a_scale, const Expr& b_scale,
                   const Expr& a_zero, const Expr& b_zero, const Expr& bias) {
  const DType to = a_scale.dtype();
  const auto wide = [](const Expr& x) {
    return x.dtype() == DType::kFloat32 ? x : Cast(x, DType::kFloat32);
  };
  const Expr sums = Cast(Op("MatMulInteger", {a, b, a_zero, b_zero}), DType::kFloat32);
  Expr y = sums * (wide(a_scale) * wide(b_scale));
  if (bias.valid()) y = y + wide(bias);
  return to == DType::kFloat32 ? y : Cast(y, to);
}

std::vector<Expr> DynamicQuantizeMatMul(const FormulaCall& call) {
  const std::vector<Expr> a = Ops("DynamicQuantizeLinear", {call.input(0)}, 3);
  return {
      ScaledProduct(a[0], call.input(1), a[1], call.input(2), a[2], call.input(3), call.input(4))};
}

std::vector<Expr> MatMulIntegerToFloat(const FormulaCall& call) {
  return {ScaledProduct(call.input(0), call.input(1), call.input(2), call.input(3), call.input(4),
                        call.input(5), call.input(6))};
}

// Sums wrap in 32 bits.
std::vector<Expr> MatMulInteger16(const FormulaCall& call) {
  const bool is_signed = call.input(0).dtype() == DType::kInt16;
  if (is_signed != (call.input(1).dtype() == DType::kInt16)) {
    call.Fail("a product of int16 and uint16 has no defined type");
    return {};
  }
  const DType sum = is_signed ? DType::kInt32 : DType::kUint32;
  return {MatMul(Cast(call.input(0), sum), Cast(call.input(1), sum))};
}

// C is int32 in units of alpha * a_scale * b_scale. Without y_scale the result is float32.
std::vector<Expr> QGemm(const FormulaCall& call) {
  const bool trans_a = call.Int("transA") != 0, trans_b = call.Int("transB") != 0;
  const Expr a = trans_a ? Transpose(call.input(0), {1, 0}) : call.input(0);
  const Expr b = trans_b ? Transpose(call.input(3), {1, 0}) : call.input(3);
  Expr sums = Op("MatMulInteger", {a, b, call.input(2), call.input(5)});
  if (call.has_input(6)) sums = sums + call.input(6);
  const Expr scale = (call.input(1) * call.input(4)) * call.Float("alpha");
  if (!call.has_input(7)) return {Cast(sums, DType::kFloat32) * scale};
  const Expr steps = Cast(sums, DType::kFloat32) * (scale / call.input(7));
  const DType to = call.has_input(8) ? call.input(8).dtype() : call.input(0).dtype();
  return {Quantize(steps, call.sink().Scalar(1, DType::kFloat32), call.input(8), to)};
}

// Attention of the dequantized input and weights; the weights have one scale, or one a column.
std::vector<Expr> QAttention(const FormulaCall& call) {
  const Expr x = Dequantize(call.input(0), call.input(3), call.input(6));
  const Expr w = Dequantize(call.input(1), call.input(4), call.input(7));
  return Ops("Attention", {x, w, call.input(2), call.input(5), call.input(8)},
             static_cast<int>(call.num_outputs()), call.attributes(), kMicrosoftDomain);
}

}  // namespace

std::vector<FormulaOp> QuantizeOps() {
  return {
      {"QuantizeLinear <axis: int?> (x: T, y_scale: T, y_zero_point: Q?) -> (y: Q) "
       "where T = float16|float, Q = int8|uint8|int16|uint16|int4|uint4",
       QuantizeLinear},
      {"DequantizeLinear <axis: int?> (x: Q, x_scale: T, x_zero_point: Q?) -> (y: T) "
       "where T = float16|float, Q = int8|uint8|int16|uint16|int32|int4|uint4",
       DequantizeLinear},
      {"DynamicQuantizeMatMul (A: T, B: Q, b_scale: T, b_zero_point: Q?, bias: T?) -> (Y: T) "
       "where T = float, Q = int8|uint8",
       DynamicQuantizeMatMul},
      {"MatMulIntegerToFloat (A: P, B: Q, a_scale: T, b_scale: T, a_zero_point: P?, "
       "b_zero_point: Q?, bias: T?) -> (Y: T) "
       "where T = float16|float, P = int8|uint8, Q = int8|uint8",
       MatMulIntegerToFloat},
      {"MatMulInteger16 (A: P, B: Q) -> (Y: T) "
       "where P = int16|uint16, Q = int16|uint16, T = int32|uint32",
       MatMulInteger16},
      {"QGemm <alpha: float = 1, transA: int = 0, transB: int = 0> (A: P, a_scale: T, "
       "a_zero_point: P, B: Q, b_scale: T, b_zero_point: Q, C: I?, y_scale: T?, y_zero_point: Z?) "
       "-> (Y: Y) where T = float, P = int8|uint8, Q = int8|uint8, I = int32, Z = int8|uint8, "
       "Y = float|int8|uint8",
       QGemm},
      {"QAttention <do_rotary: int?, mask_filter_value: float?, num_heads: int, "
       "past_present_share_buffer: int?, scale: float?, unidirectional: int = 0> (input: P, "
       "weight: Q, bias: T, input_scale: T, weight_scale: T, mask_index: M?, input_zero_point: P?, "
       "weight_zero_point: Q?, past: T?) -> (output: T, present: T?) "
       "where P = int8|uint8, Q = int8|uint8, T = float16|float, M = int32",
       QAttention},
  };
}

}  // namespace onward::microsoft
