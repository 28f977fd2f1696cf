// Images of float32 with their channels first, to and from bfloat16 with their channels last.
#include "graph/fused/fused.h"

namespace onward::fused {
namespace {

std::vector<Expr> ToChannelsLast(const FormulaCall& call) {
  return {Cast(expr::Transpose(call.input(0), {0, 2, 3, 1}), ImageType(call))};
}

std::vector<Expr> ToChannelsFirst(const FormulaCall& call) {
  return {Cast(expr::Transpose(call.input(0), {0, 3, 1, 2}), DType::kFloat32)};
}

// x * s + b, a factor and a term for each channel.
std::vector<Expr> ChannelsLastScale(const FormulaCall& call) {
  const Expr s = expr::Transpose(call.input(1), {0, 2, 3, 1});
  Expr y = Cast(call.input(0), DType::kFloat32) * s;
  if (call.has_input(2)) y = y + expr::Transpose(call.input(2), {0, 2, 3, 1});
  return {Cast(y, call.input(0).dtype())};
}

}  // namespace

std::vector<FormulaOp> LayoutOps() {
  return {{"ChannelsLastScale (x: X, s: S, b: S?) -> (y: X) where X = float|bfloat16, S = float",
           ChannelsLastScale},
          {"ToChannelsFirst (x: X) -> (y: Y) where X = float|bfloat16, Y = float", ToChannelsFirst},
          {"ToChannelsLast <dtype: int = 16> (x: X) -> (y: Y) where X = float, Y = float|bfloat16",
           ToChannelsLast}};
}

}  // namespace onward::fused
