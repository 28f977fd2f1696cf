// Ops that move elements or make them.
#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {
namespace {

std::vector<Expr> Trilu(const FormulaCall& call) {
  return {Op("Trilu", {call.input(0), call.input(1)}, {{"upper", call.Int("upper")}})};
}

// In the order of first occurrence.
std::vector<Expr> Unique(const FormulaCall& call) {
  const std::vector<Expr> found = Ops("Unique", {call.input(0)}, 4, {{"sorted", int64_t{0}}});
  return {found[0], found[2], found[3]};
}

// Takes scalars or tensors with one element.
std::vector<Expr> Range(const FormulaCall& call) {
  const Expr start = OneElement(call.input(0)), limit = OneElement(call.input(1));
  const Expr delta = call.has_input(2) ? OneElement(call.input(2)) : ScalarLike(start, 1);
  return {Op("Range", {start, limit, delta})};
}

std::vector<Expr> Pad(const FormulaCall& call) {
  const Expr value = call.has_input(2) ? OneElement(call.input(2)) : Expr();
  return {Op("Pad", {call.input(0), Reshape(call.input(1), {-1}), value},
             {{"mode", call.String("mode")}})};
}

std::vector<Expr> ExpandDims(const FormulaCall& call) {
  const Expr axis = Reshape(Cast(call.input(1), DType::kInt64), {1});
  return {Op("Unsqueeze", {call.input(0), axis})};
}

// Windows of one axis, each on a new last axis.
std::vector<Expr> UnfoldTensor(const FormulaCall& call) {
  ExprSink& sink = call.sink();
  const Expr x = call.input(0);
  const int64_t rank = call.Rank(0), size = call.Int("size"), step = call.Int("step");
  const int64_t axis = call.Int("dim") < 0 ? call.Int("dim") + rank : call.Int("dim");
  if (size < 1 || step < 1) call.Fail("`size` and `step` must be at least 1");
  if (axis < 0 || axis >= rank) {
    call.Fail("`dim` is not an axis of the input");
    return {};
  }
  const Expr zero = sink.Scalar(0, DType::kInt64), one = sink.Scalar(1, DType::kInt64);
  const Expr last = OneElement(Shape(x, axis, axis + 1)) - static_cast<double>(size);
  const Expr starts =
      Op("Range", {zero, last + 1, sink.Scalar(static_cast<double>(step), DType::kInt64)});
  const Expr within =
      Op("Range", {zero, sink.Scalar(static_cast<double>(size), DType::kInt64), one});
  const Expr windows = Gather(x, Unsqueeze(starts, {1}) + within, axis);
  std::vector<int64_t> perm;
  for (int64_t i = 0; i <= rank; ++i) {
    if (i != axis + 1) perm.push_back(i);
  }
  perm.push_back(axis + 1);
  return {Transpose(windows, perm)};
}

}  // namespace

std::vector<FormulaOp> LayoutOps() {
  return {
      {"Trilu <upper: int = 1> (X: T, k: K?) -> (Y: T)"
       " where T = float16|float|double|bfloat16|uint8|uint16|uint32|uint64|int8|int16|int32|int64"
       "|bool, K = int64",
       Trilu},
      {"Unique (x: T) -> (y: T, idx: I, counts: I)"
       " where T = uint8|uint16|uint32|uint64|int8|int16|int32|int64|float16|float|double|string"
       "|bool|complex64|complex128, I = int64",
       Unique},
      {"Range (start: T, limit: T, delta: T?) -> (Y: T) where T = float|double|int16|int32|int64",
       Range},
      {"Pad <mode: string = \"constant\"> (data: T, pads: P, value: T?) -> (output: T)"
       " where T = float16|float|double, P = int64",
       Pad},
      {"ExpandDims (X: T, axis: A) -> (Y: T)"
       " where T = uint8|uint16|uint32|uint64|int8|int16|int32|int64|float16|bfloat16|float|double"
       "|string|bool|complex64|complex128, A = int32",
       ExpandDims},
      {"UnfoldTensor <dim: int = -1, size: int, step: int = 1> (input: T) -> (output: T)"
       " where T = uint8|uint16|uint32|uint64|int8|int16|int32|int64|bfloat16|float16|float|double"
       "|string|bool|complex64|complex128",
       UnfoldTensor},
  };
}

}  // namespace onward::microsoft
