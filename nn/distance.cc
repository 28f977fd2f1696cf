#include "onward/nn/distance.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "onward/functions.h"

namespace onward::nn {

Expr CosineSimilarity::operator()(const Expr& a, const Expr& b) const {
  if (!a.valid() || !b.valid()) return {};
  const auto direction = [&](const Expr& x) {
    const Expr length = Sqrt(ReduceSum(x * x, {axis}));
    return x / Max(length, ScalarLike(x, eps));
  };
  return ReduceSum(direction(a) * direction(b), {axis}, false);
}

Expr PairwiseDistance::operator()(const Expr& a, const Expr& b) const {
  if (!a.valid() || !b.valid()) return {};
  if (!(norm >= 1)) {
    a.sink()->Fail(absl::InvalidArgumentError(
        absl::StrCat("the norm of a distance must be at least 1, got ", norm)));
    return {};
  }
  const Expr difference = a - b + eps;
  if (norm == 2) return Sqrt(ReduceSum(difference * difference, {-1}, keep_axis));
  if (norm == 1) return ReduceSum(Abs(difference), {-1}, keep_axis);
  if (std::isinf(norm)) return ReduceMax(Abs(difference), {-1}, keep_axis);
  const Expr power = ReduceSum(Pow(Abs(difference), ScalarLike(a, norm)), {-1}, keep_axis);
  return Pow(power, ScalarLike(a, 1 / norm));
}

}  // namespace onward::nn
