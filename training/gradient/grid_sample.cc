// GridSample, over any number of spatial axes, and AffineGrid. At a border the clipped coordinate
// gets nothing.
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"
#include "training/gradient/sample.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

struct Options {
  std::string mode, padding;
  bool align_corners;
};

// One spatial axis of the image.
struct Axis {
  Expr size;               // int64 scalar
  Expr extent, low, high;  // of the coordinates' dtype: the size, the borders

  Axis(const Options& options, Expr given, DType dtype) : size(std::move(given)) {
    extent = Cast(size, dtype);
    low = ScalarLike(extent, options.align_corners ? 0 : -0.5);
    high = options.align_corners ? extent - 1.0 : extent - 0.5;
  }
  // Between the centers of the outer elements.
  Expr Clipped(const Expr& at) const { return Clip(at, ScalarLike(at, 0), extent - 1.0); }
  // Mirrored at the borders until it lies between them.
  Expr Reflected(const Expr& at) const {
    const Expr span = Max(high - low, ScalarLike(at, 0.5));
    const Expr distance = Abs(at - low), turns = Floor(distance / span);
    const Expr rest = distance - turns * span;
    const Expr even = Equal(turns, Floor(turns * 0.5) * 2.0);
    return Where(even, rest + low, span - rest + low);
  }
};

// The tap at whole position `at`.
SampleTap TapAt(const Options& options, const Axis& axis, const Expr& at, const Expr& weight) {
  if (options.padding == "zeros") return TapInside(at, weight, axis.size);
  Expr inside = options.padding == "reflection" ? axis.Reflected(at) : at;
  inside = Max(Min(inside, axis.extent - 1.0), ScalarLike(at, 0));
  return {Cast(inside, DType::kInt64), weight};
}

// `at`: in [-1, 1] inside of the image.
std::vector<SampleTap> TapsOf(const Options& options, const Axis& axis, const Expr& at) {
  Expr x = options.align_corners ? (at + 1.0) * ((axis.extent - 1.0) * 0.5)
                                 : ((at + 1.0) * axis.extent - 1.0) * 0.5;
  if (options.mode == "nearest") {
    return {TapAt(options, axis, Round(x), {})};
  }
  if (options.mode == "linear" && options.padding != "zeros") {
    x = axis.Clipped(options.padding == "reflection" ? axis.Reflected(x) : x);
  }
  const Expr low = Floor(x), t = x - low;
  if (options.mode == "linear") {
    return {TapAt(options, axis, low, 1.0 - t), TapAt(options, axis, low + 1.0, t)};
  }
  constexpr double kA = -0.75;
  const auto far = [](const Expr& d) { return ((d * kA - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  const auto near = [](const Expr& d) { return (d * (kA + 2) - (kA + 3)) * d * d + 1.0; };
  return {TapAt(options, axis, low - 1.0, far(t + 1.0)), TapAt(options, axis, low, near(t)),
          TapAt(options, axis, low + 1.0, near(1.0 - t)),
          TapAt(options, axis, low + 2.0, far(2.0 - t))};
}

Gradients GridSampleRule(const GradientScope& s) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(s.input(0), 3));
  const Options options = {s.attributes().String("mode", "linear"),
                           s.attributes().String("padding_mode", "zeros"),
                           s.attributes().Int("align_corners", 0) != 0};
  const Expr output = s.output(0);
  return GradientsOf(s, [&](const std::vector<Expr>& inputs) -> std::vector<Expr> {
    const Expr image = inputs[0], batch = DimOf(image, 0);
    Expr grid = inputs[1];
    const bool wide = grid.dtype() == DType::kFloat64;
    if (!wide && grid.dtype() != DType::kFloat32) grid = Cast(grid, DType::kFloat32);
    const Expr axes = IntsLike(image, {rank - 2});
    grid = Reshape(grid, expr::Concat({batch, IntsLike(image, {-1}), axes}, 0));
    std::vector<std::vector<SampleTap>> taps;
    std::vector<Expr> sizes;
    for (int64_t a = 0; a < rank - 2; ++a) {
      const Axis axis(options, ScalarOf(DimOf(image, 2 + a)), grid.dtype());
      // The grid names the last axis first.
      const Expr at =
          Gather(grid, image.sink()->Scalar(static_cast<double>(rank - 3 - a), DType::kInt64), 2);
      taps.push_back(TapsOf(options, axis, at));
      sizes.push_back(axis.size);
    }
    const Expr flat =
        Reshape(image, expr::Concat({batch, DimOf(image, 1), IntsLike(image, {-1})}, 0));
    return {Reshape(SumOfTaps(flat, taps, sizes), Shape(output))};
  });
}

// The grid is a product of theta with positions, which are the grid of the identity, and ones.
Gradients AffineGridRule(const GradientScope& s) {
  const Expr theta = s.input(0), dy = s.upstream(0);
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(s.output(0), 3));
  const int64_t axes = rank - 2;
  const Expr row = Unsqueeze(Iota(IntsLike(theta, {axes})), {1});
  const Expr eye = Cast(Equal(row, Iota(IntsLike(theta, {axes + 1}))), theta.dtype());
  const Expr positions = Op("AffineGrid", {Expand(eye, Shape(theta)), s.input(1)}, s.attributes());
  const Expr batch = DimOf(theta, 0), all = IntsLike(theta, {-1, axes});
  const Expr flat = Reshape(positions, expr::Concat({batch, all}, 0));
  const Expr ones =
      Expand(ScalarLike(theta, 1), expr::Concat({Shape(flat, 0, 2), IntsLike(theta, {1})}, 0));
  const Expr rows = SwapLastAxes(Reshape(dy, expr::Concat({batch, all}, 0)));
  return {{MatMul(rows, expr::Concat({flat, ones}, 2)), Expr()}};
}

constexpr training::GradientEntry kRules[] = {{"AffineGrid", AffineGridRule},
                                              {"GridSample", GridSampleRule}};

}  // namespace

GradientList GridSampleGradients() { return kRules; }

}  // namespace onward::gradient
