// A function of 8-bit integers as a table of its results, in the order of its arguments.
#include "graph/fused/fused.h"

namespace onward::fused {
namespace {

std::vector<Expr> MapBytes(const FormulaCall& call) {
  const Expr number = expr::Cast(call.input(0), DType::kInt64);
  const bool is_signed = call.input(0).dtype() == DType::kInt8;
  return {expr::Gather(call.input(1), is_signed ? number + 128 : number)};
}

}  // namespace

std::vector<FormulaOp> ByteTableOps() {
  return {{"MapBytes (x: X, table: Y) -> (y: Y) where X = int8|uint8, Y = int8|uint8", MapBytes}};
}

}  // namespace onward::fused
