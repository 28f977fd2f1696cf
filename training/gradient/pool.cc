// Pooling. A maximum's gradient goes to the first largest element of its window.
#include "graph/ops/onward_schemas.h"
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"
#include "training/gradient/window.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

Gradients MaxPoolRule(const GradientScope& s) {
  const Expr x = s.input(0);
  Attributes attributes = s.attributes();
  if (s.allow_onward_ops()) {
    attributes.Erase("storage_order");
    const Expr dx =
        Op("MaxPoolGradient", {Widened(x), Widened(s.upstream(0))}, attributes, kOnwardDomain);
    return {{Like(dx, x)}};
  }
  const bool known =
      s.node().outputs.size() > 1 && s.output(1).valid() && attributes.Int("storage_order", 0) == 0;
  attributes.Erase("storage_order");
  const Expr indices = known ? s.output(1) : Ops("MaxPool", {x}, 2, attributes)[1];
  return {{ScatterFlat(x, indices, s.upstream(0))}};
}

// The number of elements that each window of an average counts, where these numbers differ.
Expr CountsOf(const GradientScope& s, const Expr& x, const Windows& w) {
  const std::vector<int64_t> zeros(w.spatial(), 0);
  const bool padding = s.attributes().Int("count_include_pad", 0) != 0;
  const bool ceil = s.attributes().Int("ceil_mode", 0) != 0;
  const bool inside =
      w.fixed_begin == zeros && w.fixed_end &&
      std::all_of(w.fixed_end->begin(), w.fixed_end->end(), [](int64_t end) { return end <= 0; });
  const std::string auto_pad = s.attributes().String("auto_pad", "NOTSET");
  if (inside || (padding && !(ceil && auto_pad == "NOTSET"))) return {};
  std::vector<int64_t> axes, ones = {1, 1};
  for (size_t i = 0; i < w.spatial(); ++i) {
    axes.push_back(static_cast<int64_t>(2 + i));
    ones.push_back(w.kernel[i]);
  }
  const Expr sizes = Op("Shape", {x}, {{"start", int64_t{2}}}), one = ScalarLike(x, 1);
  Expr counted = Expand(one, expr::Concat({IntsLike(x, {1, 1}), sizes}, 0));
  Windows rest = w;
  if (padding) {
    const std::vector<int64_t> pads = ListOr(s, "pads", std::vector<int64_t>(2 * w.spatial(), 0));
    const std::vector<int64_t> after(pads.begin() + static_cast<std::ptrdiff_t>(w.spatial()),
                                     pads.end());
    counted = Op("Pad", {counted, IntsLike(x, pads), one, IntsLike(x, axes)});
    rest.begin = IntsLike(x, zeros);
    rest.end = w.end - IntsLike(x, after);
  }
  return Op("Conv", {PadForWindows(counted, rest), Expand(one, IntsLike(x, ones))},
            {{"strides", w.strides}, {"dilations", w.dilations}});
}

// Returns whether the windows are tiles of the input: every element is in one.
bool AreTiles(const Windows& w) {
  const std::vector<int64_t> zeros(w.spatial(), 0), ones(w.spatial(), 1);
  return w.kernel == w.strides && w.dilations == ones && w.fixed_begin == zeros &&
         w.fixed_end == zeros;
}

// Each element of dy for all elements of its tile.
Expr FillTiles(const Expr& dy, const Expr& x, const Windows& w) {
  std::vector<int64_t> axes;
  std::vector<Expr> sizes = {Shape(dy, 0, 2)};
  for (size_t i = 0; i < w.spatial(); ++i) {
    axes.push_back(static_cast<int64_t>(3 + 2 * i));
    sizes.push_back(DimOf(dy, static_cast<int64_t>(2 + i)));
    sizes.push_back(IntsLike(dy, {w.kernel[i]}));
  }
  return Reshape(Expand(Unsqueeze(dy, axes), expr::Concat(sizes, 0)), Shape(x), true);
}

Gradients AveragePoolRule(const GradientScope& s) {
  const Expr x = s.input(0), dy = s.upstream(0);
  ONWARD_ASSIGN_OR_RETURN(const Windows windows,
                          WindowsOf(s, x, dy, s.attributes().Ints("kernel_shape")));
  const Expr counts = CountsOf(s, x, windows);
  double all = 1;
  for (const int64_t size : windows.kernel) all *= static_cast<double>(size);
  if (AreTiles(windows)) return {{FillTiles(dy / all, x, windows)}};
  return {{SpreadEvenly(counts.valid() ? dy / counts : dy / all, windows)}};
}

// The slope of (sum |x|^p)^(1/p): dy y^(1 - p) is spread, nothing where y is 0.
Expr NormSlope(const Expr& y, const Expr& dy, int64_t p) {
  if (p == 1) return dy;
  const Expr zero = Equal(y, ScalarLike(y, 0)), some = Where(zero, ScalarLike(y, 1), y);
  return Masked(Not(zero), dy) / (p == 2 ? some : Pow(some, ScalarLike(y, double(p) - 1)));
}
// sign(x) |x|^(p - 1)
Expr PowerSlope(const Expr& x, int64_t p) {
  if (p == 1) return Sign(x);
  if (p == 2) return x;
  return Sign(x) * Pow(Abs(x), ScalarLike(x, double(p) - 1));
}

Gradients LpPoolRule(const GradientScope& s) {
  const Expr x = s.input(0), y = s.output(0);
  const int64_t p = s.attributes().Int("p", 2);
  ONWARD_ASSIGN_OR_RETURN(const Windows windows,
                          WindowsOf(s, x, y, s.attributes().Ints("kernel_shape")));
  const Expr spread = SpreadEvenly(NormSlope(y, s.upstream(0), p), windows);
  return {{PowerSlope(x, p) * spread}};
}
Gradients GlobalLpPoolRule(const GradientScope& s) {
  const int64_t p = s.attributes().Int("p", 2);
  return {{PowerSlope(s.input(0), p) * NormSlope(s.output(0), s.upstream(0), p)}};
}

Gradients GlobalAveragePoolRule(const GradientScope& s) {
  const Expr x = s.input(0);
  return {{Expand(OverMeanCount(s.upstream(0), x, s.output(0)), Shape(x))}};
}

Gradients GlobalMaxPoolRule(const GradientScope& s) {
  const Expr x = s.input(0);
  const Expr rows = Reshape(x, {0, 0, -1});
  const Expr first = Op("ArgMax", {rows}, {{"axis", int64_t{2}}});
  const Expr dx =
      Op("ScatterElements", {ZerosLike(rows), first, Reshape(s.upstream(0), Shape(first))},
         {{"axis", int64_t{2}}});
  return {{Reshape(dx, Shape(x), true)}};
}

// The indices count elements of the tensor that a MaxPool read, which output_shape may make larger.
Gradients MaxUnpoolRule(const GradientScope& s) {
  const Expr x = s.input(0);
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(x));
  Expr dy = s.upstream(0);
  if (s.has_input(2)) {
    const Expr pooled = Op("MaxUnpool", {x, s.input(1)}, s.attributes());
    const std::vector<int64_t> zeros(static_cast<size_t>(rank), 0);
    dy = Op("Slice", {dy, IntsLike(x, zeros), Shape(pooled)});
  }
  const Expr picked = Gather(Reshape(dy, {-1}), s.input(1));
  std::vector<Expr> gradients = NoGradients(s);
  gradients[0] = picked;
  return gradients;
}

constexpr training::GradientEntry kRules[] = {
    {"AveragePool", AveragePoolRule},
    {"GlobalAveragePool", GlobalAveragePoolRule},
    {"GlobalLpPool", GlobalLpPoolRule},
    {"GlobalMaxPool", GlobalMaxPoolRule},
    {"LpPool", LpPoolRule},
    {"MaxPool", MaxPoolRule},
    {"MaxUnpool", MaxUnpoolRule},
};

}  // namespace

GradientList PoolGradients() { return kRules; }

}  // namespace onward::gradient
