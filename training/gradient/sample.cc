#include "training/gradient/sample.h"

#include "training/gradient/parts.h"

namespace onward::gradient {

using namespace expr;  // NOLINT: formulas

SampleTap TapInside(const Expr& at, const Expr& weight, const Expr& size) {
  const Expr zero = ScalarLike(at, 0), last = Cast(size - 1.0, at.dtype());
  const Expr inside = And(GreaterOrEqual(at, zero), LessOrEqual(at, last));
  const Expr kept = Max(Min(at, last), zero);
  const Expr given = weight.valid() ? weight : ScalarLike(at, 1);
  return {Cast(kept, DType::kInt64), Masked(inside, given)};
}

std::vector<SampleTap> LinearTaps(const Expr& at, const Expr& size) {
  const Expr low = Floor(at), fraction = at - low;
  return {TapInside(low, 1.0 - fraction, size), TapInside(low + 1.0, fraction, size)};
}

Expr SumOfTaps(const Expr& image, const std::vector<std::vector<SampleTap>>& axes,
               const std::vector<Expr>& sizes) {
  std::vector<SampleTap> products = axes[0];
  for (size_t axis = 1; axis < axes.size(); ++axis) {
    std::vector<SampleTap> next;
    for (const SampleTap& tap : products) {
      for (const SampleTap& other : axes[axis]) {
        const Expr weight = tap.weight.valid() && other.weight.valid() ? tap.weight * other.weight
                            : tap.weight.valid()                       ? tap.weight
                                                                       : other.weight;
        next.push_back({tap.position * sizes[axis] + other.position, weight});
      }
    }
    products = std::move(next);
  }
  Expr sum;
  const Expr batch = DimOf(image, 0), channels = DimOf(image, 1);
  for (const SampleTap& tap : products) {
    const Expr shape = expr::Concat({batch, channels, DimOf(tap.position, 1)}, 0);
    const Expr index = Expand(Unsqueeze(tap.position, {1}), shape);
    Expr value = Op("GatherElements", {image, index}, {{"axis", int64_t{2}}});
    if (tap.weight.valid()) {
      const Expr weight = Unsqueeze(tap.weight, {1});
      value = value * (weight.dtype() == value.dtype() ? weight : Cast(weight, value.dtype()));
    }
    sum = sum.valid() ? sum + value : value;
  }
  return sum;
}

}  // namespace onward::gradient
