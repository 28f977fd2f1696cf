// Matrix products with what surrounds them.
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/microsoft/microsoft.h"
#include "onnx/defs/shape_inference.h"

namespace onward::microsoft {
namespace {

// An operand of FusedMatMul: first its axis 0 goes behind the batch axes, then its last two axes
// change places. Vectors stay as they are.
Expr Transposed(const FormulaCall& call, size_t input, bool batch, bool last_two) {
  const Expr x = call.input(input);
  if (!batch && !last_two) return x;
  const int64_t rank = call.Rank(input);
  if (rank < 2) return x;
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (last_two) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return Transpose(x, perm);
}

Expr Product(const FormulaCall& call) {
  const Expr a = Transposed(call, 0, call.Int("transBatchA") != 0, call.Int("transA") != 0);
  const Expr b = Transposed(call, 1, call.Int("transBatchB") != 0, call.Int("transB") != 0);
  const Expr y = MatMul(a, b);
  return call.Float("alpha") == 1 ? y : y * call.Float("alpha");
}

std::vector<Expr> FusedMatMul(const FormulaCall& call) { return {Product(call)}; }

// activation_alpha, activation_beta and activation_gamma.
Attributes ActivationParameters(const FormulaCall& call) {
  Attributes parameters;
  for (const char* name : {"alpha", "beta", "gamma"}) {
    const std::string own = absl::StrCat("activation_", name);
    if (call.Has(own)) parameters.Set(name, call.Float(own));
  }
  return parameters;
}

std::vector<Expr> FusedMatMulActivation(const FormulaCall& call) {
  return {Activated(call, Product(call), call.String("activation"), ActivationParameters(call))};
}

std::vector<Expr> FusedGemm(const FormulaCall& call) {
  const Expr y = Gemm(call.input(0), call.input(1), call.input(2), call.Int("transA") != 0,
                      call.Int("transB") != 0, call.Float("alpha"), call.Float("beta"));
  return {Activated(call, y, call.String("activation"), ActivationParameters(call))};
}

std::vector<Expr> GemmFastGelu(const FormulaCall& call) {
  const Expr y = MatMul(call.input(0), call.input(1));
  return {Gelu(call.has_input(2) ? y + call.input(2) : y, "tanh")};
}

// Distances of the rows of A to those of B: |a|^2 - 2 a b + |b|^2.
std::vector<Expr> CDist(const FormulaCall& call) {
  const Expr a = call.input(0), b = call.input(1);
  const std::string metric = call.String("metric");
  if (metric != "sqeuclidean" && metric != "euclidean") {
    call.Fail(absl::StrCat("the metric is '", metric, "', known are sqeuclidean and euclidean"));
    return {};
  }
  const auto squares = [](const Expr& x) {
    return Op("ReduceSumSquare", {x, x.sink()->Ints({1})});
  };
  const Expr sum = Gemm(a, b, squares(a), false, true, -2.0f) + Transpose(squares(b));
  const Expr square = Max(sum, ScalarLike(sum, 0));
  return {metric == "euclidean" ? Sqrt(square) : square};
}

}  // namespace

std::vector<FormulaOp> MatMulOps() {
  return {
      {"FusedMatMul <transA: int = 0, transB: int = 0, transBatchA: int = 0, transBatchB: int = 0,"
       " alpha: float = 1> (A: T, B: T) -> (Y: T) where T = float16|float|double|bfloat16",
       FusedMatMul},
      {"TransposeMatMul <transA: int = 0, transB: int = 0, alpha: float = 1> (A: T, B: T) -> (Y: T)"
       " where T = float16|float|double|bfloat16",
       FusedMatMul},
      {"FusedMatMulActivation <transA: int = 0, transB: int = 0, transBatchA: int = 0,"
       " transBatchB: int = 0, alpha: float = 1, activation: string, activation_alpha: float?,"
       " activation_beta: float?, activation_gamma: float?, activation_axis: int?>"
       " (A: T, B: T) -> (Y: T) where T = float16|float|double|bfloat16",
       FusedMatMulActivation},
      {"FusedGemm <transA: int = 0, transB: int = 0, alpha: float = 1, beta: float = 1,"
       " activation: string?, activation_alpha: float?, activation_beta: float?,"
       " activation_gamma: float?> (A: T, B: T, C: T?) -> (Y: T)"
       " where T = float16|float|double|uint32|uint64|int32|int64",
       FusedGemm},
      {"GemmFastGelu (X: T, W: T, bias: T?) -> (Y: T) where T = float|float16|bfloat16",
       GemmFastGelu},
      {"Inverse (X: T) -> (Y: T) where T = float16|float|double", nullptr,
       onnx::propagateShapeAndTypeFromFirstInput},
      {"CDist <metric: string = \"sqeuclidean\"> (A: T, B: T) -> (C: T) where T = float|double",
       CDist},
  };
}

}  // namespace onward::microsoft
