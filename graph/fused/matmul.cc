// activation(alpha * MatMul(A', B') + bias + residual): A' and B' have their last two dims swapped
// as transA and transB say, bias has one element a column of the product, residual its shape.
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/fused/fused.h"

namespace onward::fused {
namespace {

// The operand, with its last two dims swapped where the attribute says so.
Expr Operand(const FormulaCall& call, size_t index, std::string_view swapped) {
  const Expr x = call.input(index);
  const auto& shape = x.type().shape;
  if (shape && shape->size() < 2) {
    call.Fail(absl::StrCat("input ", index, " has rank ", shape->size(), "; at least 2 is needed"));
    return {};
  }
  if (call.Int(swapped) == 0) return x;
  std::vector<int64_t> perm(static_cast<size_t>(call.Rank(index)));
  if (perm.empty()) return {};
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return Transpose(x, perm);
}

std::vector<Expr> FusedMatMul(const FormulaCall& call) {
  const Expr a = Operand(call, 0, "transA"), b = Operand(call, 1, "transB");
  Expr sum = MatMul(a, b);
  if (call.Float("alpha") != 1) sum = sum * call.Float("alpha");
  if (call.has_input(2)) sum = sum + call.input(2);
  if (call.has_input(3)) sum = sum + call.input(3);
  return {Activated(call, sum)};
}

}  // namespace

std::vector<FormulaOp> MatMulOps() {
  return {
      {"FusedMatMul <transA: int = 0, transB: int = 0, alpha: float = 1, "
       "activation: string = \"\", activation_alpha: float = 0, activation_beta: float = 0> "
       "(A: T, B: T, bias: T?, residual: T?) -> (Y: T) "
       "where T = float16|float|double|bfloat16",
       FusedMatMul}};
}

}  // namespace onward::fused
