// Quantized values pass gradients straight through: of a quantized tensor it is a float32 tensor,
// as if it were not rounded, and 0 where it saturates.
#include "absl/strings/str_cat.h"
#include "graph/base/quantized_range.h"
#include "onward/shape.h"
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

Expr Wide(const Expr& x) { return x.dtype() == DType::kFloat32 ? x : Cast(x, DType::kFloat32); }

// Scales and zero points: one, one for each position of an axis, or one for each block of it.
struct Granularity {
  enum class Kind { kTensor, kAxis, kBlocks } kind = Kind::kTensor;
  int64_t rank = 0, axis = 0, block = 0;
  Expr x, scale;

  static absl::StatusOr<Granularity> Of(const GradientScope& s) {
    Granularity g;
    g.x = s.input(0);
    g.scale = s.input(1);
    ONWARD_ASSIGN_OR_RETURN(g.rank, RankOf(g.x));
    ONWARD_ASSIGN_OR_RETURN(const int64_t scale_rank, RankOf(g.scale));
    g.block = s.attributes().Int("block_size", 0);
    g.axis = s.attributes().Int("axis", 1);
    if (g.block > 0) {
      g.kind = Kind::kBlocks;
    } else if (scale_rank == 1 && g.scale.type().shape->front() != Dim(1)) {
      g.kind = Kind::kAxis;
      if (g.rank == 1) g.axis = 0;
    }
    if (g.kind != Kind::kTensor) {
      ONWARD_ASSIGN_OR_RETURN(g.axis, NormalizeAxis(g.axis, g.rank));
    }
    return g;
  }
  // [..., blocks, block size, ...] for blocks along the axis.
  Expr SplitShape() const {
    const Expr size = IntsLike(x, {block});
    std::vector<Expr> parts = {Shape(scale, 0, axis + 1), size};
    if (axis + 1 < rank) parts.push_back(Shape(scale, axis + 1, rank));
    return expr::Concat(parts, 0);
  }
  // For each element of x.
  Expr Spread(const Expr& value) const {
    if (!value.valid()) return value;
    const Expr wide = Wide(value);
    if (kind == Kind::kTensor) return Reshape(wide, std::vector<int64_t>{});
    if (kind == Kind::kAxis) {
      std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
      shape[static_cast<size_t>(axis)] = -1;
      return Reshape(wide, shape);
    }
    const Expr repeated = Expand(Unsqueeze(wide, {axis + 1}), SplitShape());
    const Expr length = DimOf(scale, axis) * IntsLike(x, {block});
    std::vector<Expr> parts;
    if (axis > 0) parts.push_back(Shape(scale, 0, axis));
    parts.push_back(length);
    if (axis + 1 < rank) parts.push_back(Shape(scale, axis + 1, rank));
    const Expr flat = Reshape(repeated, expr::Concat(parts, 0), true);
    return Op("Slice", {flat, IntsLike(x, {0}), DimOf(x, axis), IntsLike(x, {axis})});
  }
  // Sums over the elements that share a scale, in the scale's shape.
  Expr Gathered(const Expr& elements) const {
    Expr sums = elements;
    if (kind == Kind::kTensor) sums = ReduceSum(elements, {}, false);
    if (kind == Kind::kAxis) {
      std::vector<int64_t> others = AxesUpTo(rank);
      others.erase(others.begin() + axis);
      if (!others.empty()) sums = ReduceSum(elements, others, false);
    }
    if (kind == Kind::kBlocks) {
      const Expr missing = DimOf(scale, axis) * IntsLike(x, {block}) - DimOf(x, axis);
      const Expr pads = expr::Concat({IntsLike(x, {0}), missing}, 0);
      const Expr padded = Op("Pad", {elements, pads, Expr(), IntsLike(x, {axis})});
      sums = ReduceSum(Reshape(padded, SplitShape(), true), {axis + 1}, false);
    }
    const Expr shaped = Reshape(sums, Shape(scale), true);
    return scale.dtype() == DType::kFloat32 ? shaped : Cast(shaped, scale.dtype());
  }
};

Gradients DequantizeLinearRule(const GradientScope& s) {
  ONWARD_ASSIGN_OR_RETURN(const Granularity g, Granularity::Of(s));
  const Expr dy = Wide(s.upstream(0));
  std::vector<Expr> gradients = NoGradients(s);
  gradients[0] = dy * g.Spread(s.input(1));
  if (s.wants(1)) {
    const Expr q = Wide(s.input(0)), zero = g.Spread(s.input(2));
    gradients[1] = g.Gathered(dy * (zero.valid() ? q - zero : q));
  }
  return gradients;
}

Gradients QuantizeLinearRule(const GradientScope& s) {
  ONWARD_ASSIGN_OR_RETURN(const Granularity g, Granularity::Of(s));
  const Expr x = s.input(0), scale = g.Spread(s.input(1)), zero = g.Spread(s.input(2));
  const DType dtype = s.output(0).dtype();
  const Expr ratio = Wide(x) / scale;
  const Expr whole = IsFloating(dtype) ? ratio : Round(ratio);
  const Expr level = zero.valid() ? whole + zero : whole;
  const auto [low, high] = QuantizedRangeOf(dtype);
  const Expr inside = And(GreaterOrEqual(level, ScalarLike(level, low)),
                          LessOrEqual(level, ScalarLike(level, high)));
  const Expr dx = Masked(inside, Wide(s.upstream(0))) / scale;
  std::vector<Expr> gradients = NoGradients(s);
  gradients[0] = x.dtype() == DType::kFloat32 ? dx : Cast(dx, x.dtype());
  if (s.wants(1)) gradients[1] = g.Gathered(-(dx * ratio));
  return gradients;
}

constexpr training::GradientEntry kRules[] = {{"DequantizeLinear", DequantizeLinearRule},
                                              {"QuantizeLinear", QuantizeLinearRule}};

}  // namespace

GradientList QuantizeGradients() { return kRules; }

}  // namespace onward::gradient
