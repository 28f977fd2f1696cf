// Det and Inverse. The gradient of a determinant is the matrix of cofactors: determinants of
// minors, right for singular matrices too. Of large matrices it is the determinant times the
// transposed inverse, which the standard has no op for.
#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

constexpr int64_t kFewRows = 8;  // n^2 minors of n^3 operations
constexpr int64_t kManyRows = 32;

Expr Cofactors(const Expr& x, int64_t n, int64_t rank) {
  std::vector<int64_t> others, signs;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (i != j) others.push_back(j);
      signs.push_back((i + j) % 2 == 0 ? 1 : -1);
    }
  }
  const Expr index = Reshape(IntsLike(x, others), {n, n - 1});
  // [..., row, rows, column, columns]
  const Expr minors = Gather(Gather(x, index, rank - 2), index, rank);
  std::vector<int64_t> perm = AxesUpTo(rank + 2);
  std::swap(perm[static_cast<size_t>(rank - 1)], perm[static_cast<size_t>(rank)]);
  const Expr sign = Cast(Reshape(IntsLike(x, signs), {n, n}), x.dtype());
  return Op("Det", {Transpose(minors, perm)}) * sign;
}

Gradients DetRule(const GradientScope& s) {
  const Expr x = s.input(0), dy = Unsqueeze(s.upstream(0), {-2, -1});
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(x, 2));
  const Dim rows = x.type().shape->back();
  const bool few = rows.known() && rows.value() <= kFewRows;
  if (s.allow_onward_ops() && !few) {
    const Expr inverse = Op("Inverse", {x}, {}, "com.microsoft");
    return {{dy * Unsqueeze(s.output(0), {-2, -1}) * SwapLastAxes(inverse)}};
  }
  if (!rows.known() || rows.value() > kManyRows) {
    return absl::UnimplementedError(absl::StrCat("the standard has no gradient for matrices of ",
                                                 rows.ToString(),
                                                 " rows; it needs the option allow_onward_ops"));
  }
  if (rows.value() == 1) return {{Expand(dy, Shape(x))}};
  return {{dy * Cofactors(x, rows.value(), rank)}};
}

Gradients InverseRule(const GradientScope& s) {
  ONWARD_RETURN_IF_ERROR(RankOf(s.output(0), 2).status());
  const Expr transposed = SwapLastAxes(s.output(0));
  return {{-MatMul(MatMul(transposed, s.upstream(0)), transposed)}};
}

constexpr training::GradientEntry kRules[] = {{"Det", DetRule},
                                              {"Inverse", InverseRule, "com.microsoft"}};

}  // namespace

GradientList DetGradients() { return kRules; }

}  // namespace onward::gradient
