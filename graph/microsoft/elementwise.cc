// Sums, products and tests of elements.
#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {
namespace {

std::vector<Expr> BiasAdd(const FormulaCall& call) {
  return {call.input(0) + call.input(1) + call.input(2)};
}

// The left half of the sum times the gelu of its right half.
std::vector<Expr> BiasSplitGelu(const FormulaCall& call) {
  const std::vector<Expr> halves = Ops("Split", {call.input(0) + call.input(1)}, 2,
                                       {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}});
  return {halves[0] * Gelu(halves[1])};
}

// Dropout(data + bias, ratio) + residual
std::vector<Expr> BiasDropout(const FormulaCall& call) {
  Attributes seed;
  if (call.Has("seed")) seed.Set("seed", call.attributes().Int("seed", 0));
  std::vector<Expr> dropped =
      Ops("Dropout", {call.input(0) + call.input(1), call.input(3), call.input(4)}, 2, seed);
  if (call.has_input(2)) dropped[0] = dropped[0] + call.input(2);
  return dropped;
}

// X + Y * gate
std::vector<Expr> GatedAdd(const FormulaCall& call) {
  return {call.input(0) + call.input(1) * call.input(2)};
}

std::vector<Expr> IsAllFinite(const FormulaCall& call) {
  const bool nan_only = call.Int("isnan_only") != 0, inf_only = call.Int("isinf_only") != 0;
  if (nan_only && inf_only) call.Fail("isnan_only and isinf_only exclude each other");
  Expr found;
  const auto add = [&](const Expr& wrong) {
    const Expr any = expr::ReduceMax(Cast(wrong, DType::kUint8), {}, /*keep_dims=*/false);
    found = found.valid() ? Max(found, any) : any;
  };
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    // One element more, so that the largest of an empty tensor is defined.
    const Expr flat = Reshape(call.input(i), {-1});
    const Expr x = Concat({flat, Unsqueeze(ScalarLike(flat, 0), {0})}, 0);
    if (!inf_only) add(Op("IsNaN", {x}));
    if (!nan_only) add(Op("IsInf", {x}));
  }
  return {Not(Cast(found, DType::kBool))};
}

Expr Shifted(const FormulaCall& call, size_t input) {
  const Expr x = Cast(call.input(input), DType::kInt32);
  return call.has_input(input + 1) ? x - Cast(call.input(input + 1), DType::kInt32) : x;
}

// (A - A_zero_point) * (B - B_zero_point)
std::vector<Expr> MulInteger(const FormulaCall& call) {
  return {Shifted(call, 0) * Shifted(call, 2)};
}

std::vector<Expr> ReduceSumInteger(const FormulaCall& call) {
  const DType wide = call.input(0).dtype() == DType::kInt8 ? DType::kInt32 : DType::kUint32;
  return {ReduceSum(Cast(call.input(0), wide), call.attributes().Ints("axes"),
                    call.Int("keepdims") != 0)};
}

// Complex numbers are pairs on the last axis.
std::vector<Expr> ComplexProduct(const FormulaCall& call, bool conjugate) {
  const std::vector<Expr> a = Split(call.input(0), {1, 1}, -1);
  const std::vector<Expr> b = Split(call.input(1), {1, 1}, -1);
  const Expr b_imag = conjugate ? -b[1] : b[1];
  return {Concat({a[0] * b[0] - a[1] * b_imag, a[0] * b_imag + a[1] * b[0]}, -1)};
}
std::vector<Expr> ComplexMul(const FormulaCall& call) { return ComplexProduct(call, false); }
std::vector<Expr> ComplexMulConj(const FormulaCall& call) { return ComplexProduct(call, true); }

std::vector<Expr> SampleOp(const FormulaCall& call) { return {Identity(call.input(0))}; }

}  // namespace

std::vector<FormulaOp> ElementwiseOps() {
  return {
      {"BiasAdd (X: T, bias: T, skip: T) -> (Y: T) where T = float16|float", BiasAdd},
      {"BiasSplitGelu (X: T, bias: T) -> (Y: T) where T = float16|float", BiasSplitGelu},
      {"BiasDropout <seed: int?>"
       " (data: T, bias: T, residual: T?, ratio: R?, training_mode: B?) -> (output: T, mask: B?)"
       " where T = float16|float|double|bfloat16, R = float16|float|double|bfloat16, B = bool",
       BiasDropout},
      {"GatedAdd (X: T, Y: T, gate: T) -> (output: T) where T = float|float16|bfloat16", GatedAdd},
      {"IsAllFinite <isinf_only: int = 0, isnan_only: int = 0> (input: V...) -> (output: B)"
       " where V = float16|float|double|bfloat16, B = bool",
       IsAllFinite},
      {"MulInteger (A: T, A_zero_point: T?, B: T, B_zero_point: T?) -> (C: R)"
       " where T = uint8|int8, R = int32",
       MulInteger},
      {"ReduceSumInteger <axes: ints, keepdims: int> (data: T) -> (reduced: R)"
       " where T = int8|uint8, R = int32|uint32",
       ReduceSumInteger},
      {"ComplexMul (A: T, B: T) -> (C: T) where T = float|double|float16", ComplexMul},
      {"ComplexMulConj (A: T, B: T) -> (C: T) where T = float|double|float16", ComplexMulConj},
      {"SampleOp (X: T) -> (Y: T) where T = uint32|uint64|int32|int64|float16|float|double",
       SampleOp},
  };
}

}  // namespace onward::microsoft
