// Losses of distances and margins.
#include "training/losses/operands.h"
#include "training/losses/reduction.h"

namespace onward::loss {
namespace {

Expr Dot(const Expr& a, const Expr& b) { return ReduceSum(a * b, {-1}, false); }

// The distance of rows, as PyTorch's pairwise_distance: epsilon is added to each difference.
Expr EuclideanDistance(const Expr& a, const Expr& b, double epsilon) {
  const Expr difference = a - b + epsilon;
  return Sqrt(Dot(difference, difference));
}

Expr IsOne(const Expr& target) { return Equal(target, ScalarLike(target, 1)); }

}  // namespace

Expr CosineEmbedding(const Expr& a, const Expr& other, const Expr& given, double margin,
                     Reduction reduction) {
  constexpr double kTiny = 1e-12;
  const Expr b = SameShape("cosine_embedding", a, other, "second operand");
  const Expr target = ClassTarget("cosine_embedding", a, given, -1);
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

Expr TripletMarginWithDistance(const Expr& anchor, const Expr& like, const Expr& unlike,
                               const Distance& distance, double margin, bool swap,
                               Reduction reduction) {
  const Expr positive = SameShape("triplet_margin", anchor, like, "positive");
  const Expr negative = SameShape("triplet_margin", anchor, unlike, "negative");
  Expr away = distance(anchor, negative);
  if (swap) away = Min(away, distance(positive, negative));
  return Reduced(AtLeast(distance(anchor, positive) - away + margin, 0), reduction);
}

Expr HingeEmbedding(const Expr& x, const Expr& given, double margin, Reduction reduction) {
  const Expr target = SameShape("hinge_embedding", x, given);
  return Reduced(Where(IsOne(target), x, AtLeast(margin - x, 0)), reduction);
}

Expr MarginRanking(const Expr& a, const Expr& other, const Expr& given, double margin,
                   Reduction reduction) {
  const Expr b = SameShape("margin_ranking", a, other, "second operand");
  const Expr target = SameShape("margin_ranking", a, given);
  return Reduced(AtLeast(margin - target * (a - b), 0), reduction);
}

Expr SoftMargin(const Expr& x, const Expr& target, Reduction reduction) {
  return Reduced(Softplus(-(SameShape("soft_margin", x, target) * x)), reduction);
}

}  // namespace onward::loss
