// Normalisations. With n = (x - mean) / deviation and g the gradient of n,
//   dx = (g - mean(g) - n mean(g n)) / deviation,
// the means over what was normalised together. 16-bit floats are computed in float.
#include "absl/strings/str_cat.h"
#include "graph/ops/onward_schemas.h"
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

using Axes = std::vector<int64_t>;

// A tensor normalised over axes.
struct Normalized {
  Axes axes;
  Expr centered, inverse, normal;  // x - mean, 1 / deviation, their product
  bool has_mean = true;

  Normalized(const Expr& x, Axes over, double epsilon, bool with_mean = true)
      : axes(std::move(over)), has_mean(with_mean) {
    centered = with_mean ? x - ReduceMean(x, axes) : x;
    inverse = Reciprocal(Sqrt(ReduceMean(centered * centered, axes) + epsilon));
    normal = centered * inverse;
  }
  Expr InputGradient(const Expr& g) const {
    const Expr along = normal * ReduceMean(g * normal, axes);
    const Expr rest = has_mean ? g - ReduceMean(g, axes) : g;
    return (rest - along) * inverse;
  }
};

// The axes from `axis` on; a negative one needs no rank.
absl::StatusOr<Axes> AxesFrom(const Expr& x, int64_t axis) {
  int64_t end = 0;
  if (axis >= 0) {
    ONWARD_ASSIGN_OR_RETURN(end, RankOf(x));
  }
  Axes axes;
  for (int64_t i = axis; i < end; ++i) axes.push_back(i);
  return axes;
}

// The fused op has rows of the last axis, a scale for each of their elements, and nothing that
// flows back into the statistics.
bool TakesFused(const GradientScope& s, const Axes& axes) {
  const auto &x = s.input(0).type().shape, &scale = s.input(1).type().shape;
  const int outputs = static_cast<int>(s.node().outputs.size());
  for (int i = 1; i < 3 && i < outputs; ++i)
    if (s.upstream(i).valid()) return false;
  return s.allow_onward_ops() && s.upstream(0).valid() && x && !x->empty() && scale &&
         scale->size() == 1 && scale->front().SameAs(x->back()) && axes.size() == 1 &&
         (axes[0] == -1 || axes[0] + 1 == static_cast<int64_t>(x->size()));
}

Gradients FusedLayerNormalization(const GradientScope& s) {
  const std::vector<Expr> made =
      Ops("LayerNormalizationGradient", {s.input(0), Widened(s.input(1)), Widened(s.upstream(0))},
          3, {{"epsilon", s.attributes().Float("epsilon", 1e-5f)}}, kOnwardDomain);
  std::vector<Expr> gradients = NoGradients(s);
  for (int i = 0; i < 3; ++i)
    if (s.has_input(i))
      gradients[static_cast<size_t>(i)] = Like(made[static_cast<size_t>(i)], s.input(i));
  return gradients;
}

// The other outputs are the mean and 1 / deviation.
Gradients LayerNormalizationRule(const GradientScope& s) {
  ONWARD_ASSIGN_OR_RETURN(const Axes axes, AxesFrom(s.input(0), s.attributes().Int("axis", -1)));
  if (TakesFused(s, axes)) return FusedLayerNormalization(s);
  const Expr x = Widened(s.input(0));
  const Normalized n(x, axes, s.attributes().Float("epsilon", 1e-5f));
  std::vector<Expr> gradients = NoGradients(s);
  Expr dx;
  const auto add = [&](const Expr& part) { dx = dx.valid() ? dx + part : part; };
  if (s.upstream(0).valid()) {
    const Expr dy = Widened(s.upstream(0));
    add(n.InputGradient(dy * Widened(s.input(1))));
    gradients[1] = Like(dy * n.normal, s.input(1));
    if (s.has_input(2)) gradients[2] = s.upstream(0);
  }
  const Expr count = Cast(Size(x) / Size(n.inverse), x.dtype());
  const int outputs = static_cast<int>(s.node().outputs.size());
  if (outputs > 1 && s.upstream(1).valid()) add(Expand(Like(s.upstream(1), x) / count, Shape(x)));
  if (outputs > 2 && s.upstream(2).valid()) {
    const Expr cube = n.inverse * n.inverse * n.inverse;
    add(-(n.centered * (Like(s.upstream(2), x) * cube / count)));
  }
  gradients[0] = Like(dx, s.input(0));
  return gradients;
}

Gradients RMSNormalizationRule(const GradientScope& s) {
  ONWARD_ASSIGN_OR_RETURN(const Axes axes, AxesFrom(s.input(0), s.attributes().Int("axis", -1)));
  const Expr x = Widened(s.input(0)), dy = Like(s.upstream(0), x);
  const Normalized n(x, axes, s.attributes().Float("epsilon", 1e-5f), false);
  const Expr dx = n.InputGradient(dy * Like(s.input(1), x));
  return {{Like(dx, s.input(0)), Like(dy * n.normal, s.input(1))}};
}

// [C] as [C, 1, ...], to be multiplied with [N, C, ...].
Expr AsChannels(const Expr& c, int64_t rank) {
  Axes shape(static_cast<size_t>(rank - 1), 1);
  shape[0] = -1;
  return Reshape(c, shape);
}
// All axes but that of the channels.
Axes AllButChannels(int64_t rank) {
  Axes axes = {0};
  for (int64_t i = 2; i < rank; ++i) axes.push_back(i);
  return axes;
}

Gradients InstanceNormalizationRule(const GradientScope& s) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(s.input(0), 2));
  const Expr x = Widened(s.input(0)), dy = Widened(s.upstream(0));
  ONWARD_ASSIGN_OR_RETURN(const Axes axes, AxesFrom(x, 2));
  const Normalized n(x, axes, s.attributes().Float("epsilon", 1e-5f));
  const Expr dx = n.InputGradient(dy * AsChannels(Widened(s.input(1)), rank));
  const Axes others = AllButChannels(rank);
  return {{Like(dx, s.input(0)), Like(ReduceSum(dy * n.normal, others, false), s.input(1)),
           Like(ReduceSum(dy, others, false), s.input(2))}};
}

// [N, C, ...] as [N, groups, ...].
Gradients GroupNormalizationRule(const GradientScope& s) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(s.input(0), 2));
  const Expr x = Widened(s.input(0)), dy = Widened(s.upstream(0));
  const Axes groups = {0, s.attributes().Int("num_groups", 1), -1}, others = AllButChannels(rank);
  const Normalized n(Reshape(x, groups), {2}, s.attributes().Float("epsilon", 1e-5f));
  const Expr g = Reshape(dy * AsChannels(Widened(s.input(1)), rank), groups);
  const Expr dx = Reshape(n.InputGradient(g), Shape(x), true);
  const Expr normal = Reshape(n.normal, Shape(x), true);
  return {{Like(dx, s.input(0)), Like(ReduceSum(dy * normal, others, false), s.input(1)),
           Like(ReduceSum(dy, others, false), s.input(2))}};
}

// (x - mean) / (deviation + 1e-9)
Gradients MeanVarianceNormalizationRule(const GradientScope& s) {
  const Axes axes = s.attributes().Ints("axes", {0, 2, 3});
  const Expr x = Widened(s.input(0)), dy = Widened(s.upstream(0));
  const Expr centered = x - ReduceMean(x, axes);
  const Expr deviation = Sqrt(ReduceMean(centered * centered, axes));
  const Expr divisor = deviation + 1e-9;
  const Expr along = centered * ReduceMean(dy * centered, axes) / (deviation * divisor);
  return {{Like((dy - ReduceMean(dy, axes) - along) / divisor, s.input(0))}};
}

// Nothing comes through a row of zeros.
Gradients LpNormalizationRule(const GradientScope& s) {
  const Axes axis = {s.attributes().Int("axis", -1)};
  const Expr x = s.input(0), y = s.output(0), dy = s.upstream(0);
  const bool absolute = s.attributes().Int("p", 2) == 1;
  const Expr norm = ReduceSum(absolute ? Abs(x) : x * x, axis);
  const Expr zero = Equal(norm, ScalarLike(norm, 0)), one = ScalarLike(norm, 1);
  const Expr safe = Where(zero, one, norm), divisor = absolute ? safe : Sqrt(safe);
  const Expr along = (absolute ? Sign(x) : y) * ReduceSum(dy * y, axis);
  return {{Masked(Not(zero), (dy - along) / divisor)}};
}

// The sum of x over `before` channels, itself and `after` channels, slice by slice.
Expr SumOfSlices(const Expr& x, int64_t before, int64_t after) {
  const Expr padded = Op("Pad", {x, IntsLike(x, {before, after}), Expr(), IntsLike(x, {1})});
  const int64_t size = before + after + 1;
  Expr sum;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t end = i + 1 == size ? std::numeric_limits<int64_t>::max() : i + 1 - size;
    const Expr part = Slice(padded, {i}, {end}, {1});
    sum = sum.valid() ? sum + part : part;
  }
  return sum;
}

// The same as differences of running sums: its cost does not grow with the window.
Expr DifferenceOfSums(const Expr& x, int64_t before, int64_t after) {
  const Expr running = Op("CumSum", {x, x.sink()->Scalar(1, DType::kInt64)});
  const Expr sums = Op("Pad", {running, IntsLike(x, {1, 0}), Expr(), IntsLike(x, {1})});
  const Expr count = DimOf(x, 1), channel = Iota(count);
  const Expr first = Max(channel - IntsLike(x, {before}), IntsLike(x, {0}));
  const Expr end = Min(channel + IntsLike(x, {after + 1}), count);
  return Gather(sums, end, 1) - Gather(sums, first, 1);
}

Expr ChannelSums(const Expr& x, int64_t before, int64_t after) {
  constexpr int64_t kMostSlices = 32;
  return before + after < kMostSlices ? SumOfSlices(x, before, after)
                                      : DifferenceOfSums(x, before, after);
}

// y = x s^-beta with s = bias + alpha / size * sum of squares over neighbouring channels.
Gradients LRNRule(const GradientScope& s) {
  const Expr x = s.input(0), dy = s.upstream(0);
  const int64_t size = s.attributes().Int("size", 1);
  if (size <= 0)
    return absl::InvalidArgumentError(absl::StrCat("size is ", size, ", must be positive"));
  const int64_t before = (size - 1) / 2;
  const double alpha = s.attributes().Float("alpha", 1e-4f) / static_cast<double>(size),
               beta = s.attributes().Float("beta", 0.75f), bias = s.attributes().Float("bias", 1);
  const Expr sums = ChannelSums(x * x, before, size - 1 - before) * alpha + bias;
  const Expr power = Pow(sums, ScalarLike(x, -beta));
  const Expr back = ChannelSums(dy * x * power / sums, size - 1 - before, before);
  return {{dy * power - x * back * (2 * alpha * beta)}};
}

constexpr training::GradientEntry kRules[] = {
    {"GroupNormalization", GroupNormalizationRule},
    {"InstanceNormalization", InstanceNormalizationRule},
    {"LRN", LRNRule},
    {"LayerNormalization", LayerNormalizationRule},
    {"LpNormalization", LpNormalizationRule},
    {"MeanVarianceNormalization", MeanVarianceNormalizationRule},
    {"RMSNormalization", RMSNormalizationRule},
};

}  // namespace

GradientList NormalizationGradients() { return kRules; }

}  // namespace onward::gradient
