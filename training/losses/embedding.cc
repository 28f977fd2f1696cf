// Losses of distances and margins.
#include "training/losses/reduction.h"

namespace onward::loss {
namespace {

Expr Dot(const Expr& a, const Expr& b) { return ReduceSum(a * b, {-1}, false); }

// Of rows, as PyTorch's pairwise_distance: epsilon is added to each difference.
Expr EuclideanDistance(const Expr& a, const Expr& b, double epsilon) {
  const Expr difference = a - b + epsilon;
  return Sqrt(Dot(difference, difference));
}

Expr IsOne(const Expr& target) { return Equal(target, ScalarLike(target, 1)); }

}  // namespace

Expr CosineEmbedding(const Expr& a, const Expr& b, const Expr& target, double margin,
                     Reduction reduction) {
  constexpr double kTiny = 1e-12;
  const Expr cosine = Dot(a, b) / Sqrt((Dot(a, a) + kTiny) * (Dot(b, b) + kTiny));
  return Reduced(Where(IsOne(target), 1.0 - cosine, AtLeast(cosine - margin, 0)), reduction);
}

Expr TripletMargin(const Expr& anchor, const Expr& positive, const Expr& negative, double margin,
                   double epsilon, bool swap, Reduction reduction) {
  const auto distance = [&](const Expr& a, const Expr& b) {
    return EuclideanDistance(a, b, epsilon);
  };
  return TripletMarginWithDistance(anchor, positive, negative, distance, margin, swap, reduction);
}

Expr TripletMarginWithDistance(const Expr& anchor, const Expr& positive, const Expr& negative,
                               const Distance& distance, double margin, bool swap,
                               Reduction reduction) {
  Expr away = distance(anchor, negative);
  if (swap) away = Min(away, distance(positive, negative));
  return Reduced(AtLeast(distance(anchor, positive) - away + margin, 0), reduction);
}

Expr HingeEmbedding(const Expr& x, const Expr& target, double margin, Reduction reduction) {
  return Reduced(Where(IsOne(target), x, AtLeast(margin - x, 0)), reduction);
}

Expr MarginRanking(const Expr& a, const Expr& b, const Expr& target, double margin,
                   Reduction reduction) {
  return Reduced(AtLeast(margin - target * (a - b), 0), reduction);
}

Expr SoftMargin(const Expr& x, const Expr& target, Reduction reduction) {
  return Reduced(Softplus(-(target * x)), reduction);
}

}  // namespace onward::loss
