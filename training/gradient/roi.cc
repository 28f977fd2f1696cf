// Pooling over regions of interest. As in PyTorch only the image has a gradient.
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

Expr Infinity(const Expr& like) {
  return ScalarLike(like, std::numeric_limits<double>::infinity());
}

// Column `i` of the regions [regions, n].
Expr Column(const Expr& rois, int64_t i) { return Slice(rois, {i}, {i + 1}, {1}); }

// ---- RoiAlign: one axis of every region.
struct Samples {
  Expr low, high;  // [regions, bins * samples, size]: weights of the two neighbours
  Expr missing;    // [regions, bins * samples]: samples that a region of few samples does not have
  Expr count;      // [regions, 1, 1]: samples of a bin, at least 1
  Expr most;       // int64[1]: samples of a bin that are laid out
};

struct AlignOptions {
  bool half_pixel, is_max;
  int64_t ratio;
  double scale;
};

// `from`, `to`: [regions, 1]; `size`: int64[1].
Samples SamplesOf(const AlignOptions& o, const Expr& from, const Expr& to, int64_t bins,
                  const Expr& size) {
  const Expr zero = ScalarLike(from, 0), one = ScalarLike(from, 1);
  const Expr start = from * o.scale - (o.half_pixel ? 0.5 : 0.0);
  Expr extent = (to - from) * o.scale;
  if (!o.half_pixel) extent = Max(extent, one);
  const Expr bin = extent / static_cast<double>(bins);
  const Expr counts = o.ratio > 0 ? bin * 0.0 + static_cast<double>(o.ratio) : Max(Ceil(bin), zero);
  const Expr most = o.ratio > 0 ? IntsLike(from, {o.ratio})
                                : Reshape(Cast(ReduceMax(counts, {}, false), DType::kInt64), {1});
  // [regions, bins, samples]
  const Expr sample = Cast(Iota(most), from.dtype());
  const Expr bin3 = Unsqueeze(bin, {2}), count3 = Max(Unsqueeze(counts, {2}), one);
  const Expr bin_number =
      Reshape(Cast(Iota(IntsLike(from, {bins})), from.dtype()), std::vector<int64_t>{-1, 1});
  const Expr at = Unsqueeze(start, {2}) + bin_number * bin3 + (sample + 0.5) * bin3 / count3;
  const Expr missing = Expand(GreaterOrEqual(sample, Unsqueeze(counts, {2})), Shape(at));
  const Expr rows = expr::Concat({DimOf(from, 0), IntsLike(from, {-1})}, 0);
  const Expr flat = Reshape(at, rows), last = Cast(size, from.dtype()) - 1.0;
  const Expr outside = Or(Less(flat, ScalarLike(flat, -1)), Greater(flat, last + 1.0));
  const Expr skipped = Or(outside, Reshape(missing, rows));
  const Expr inside = Min(Max(flat, zero), last), low = Floor(inside);
  const Expr fraction = inside - low;
  // One-hot rows over the axis.
  const Expr positions = Cast(Iota(size), from.dtype());
  const auto weights = [&](const Expr& position, const Expr& weight) {
    const Expr hit = Equal(Unsqueeze(position, {2}), positions);
    return Masked(hit, Unsqueeze(Where(skipped, zero, weight), {2}));
  };
  return {weights(low, 1.0 - fraction), weights(Min(low + 1.0, last), fraction),
          Reshape(missing, rows), count3, most};
}

// [regions, bins, size]: the mean over the samples of each bin.
Expr MeanWeights(const Samples& samples, int64_t bins, const Expr& size) {
  const Expr all = samples.low + samples.high;
  const Expr split = Reshape(
      all, expr::Concat({DimOf(all, 0), IntsLike(all, {bins}), samples.most, size}, 0), true);
  return ReduceSum(split, {2}, false) / samples.count;
}

// The greatest weighted neighbour of a bin's samples, as the standard has it.
Expr GreatestNeighbour(const Expr& images, const Samples& rows, const Samples& columns,
                       int64_t height, int64_t width) {
  Expr greatest;
  for (const Expr& row : {rows.low, rows.high}) {
    for (const Expr& column : {columns.low, columns.high}) {
      const Expr part =
          MatMul(MatMul(Unsqueeze(row, {1}), images), SwapLastAxes(Unsqueeze(column, {1})));
      greatest = greatest.valid() ? Max(greatest, part) : part;
    }
  }
  const Expr missing = Or(Unsqueeze(rows.missing, {1, 3}), Unsqueeze(columns.missing, {1, 2}));
  const Expr present = Where(missing, -Infinity(greatest), greatest);
  const Expr bins = expr::Concat({Shape(images, 0, 2), IntsLike(images, {height}), rows.most,
                                  IntsLike(images, {width}), columns.most},
                                 0);
  return ReduceMax(Reshape(present, bins), {3, 5}, false);
}

// The regions get no gradient, as in torchvision.
Gradients RoiAlignRule(const GradientScope& s) {
  const Attributes& a = s.attributes();
  const AlignOptions o = {a.String("coordinate_transformation_mode", "half_pixel") == "half_pixel",
                          a.String("mode", "avg") == "max", a.Int("sampling_ratio", 0),
                          a.Float("spatial_scale", 1)};
  const int64_t height = a.Int("output_height", 1), width = a.Int("output_width", 1);
  const Expr x = s.input(0);
  const bool narrow = x.dtype() == DType::kFloat16 || x.dtype() == DType::kBFloat16;
  const DType dtype = narrow ? DType::kFloat32 : x.dtype();
  const Expr rois = Cast(s.input(1), dtype), rows = DimOf(x, 2), columns = DimOf(x, 3);
  const Samples down = SamplesOf(o, Column(rois, 1), Column(rois, 3), height, rows);
  const Samples right = SamplesOf(o, Column(rois, 0), Column(rois, 2), width, columns);
  return GradientsOf(s, [&](const std::vector<Expr>& inputs) -> std::vector<Expr> {
    const Expr image = narrow ? Cast(inputs[0], dtype) : inputs[0];
    const Expr images = Gather(image, s.input(2));
    Expr y;
    if (o.is_max) {
      y = GreatestNeighbour(images, down, right, height, width);
    } else {
      const Expr by_row = Unsqueeze(MeanWeights(down, height, rows), {1});
      const Expr by_column = Unsqueeze(MeanWeights(right, width, columns), {1});
      y = MatMul(MatMul(by_row, images), SwapLastAxes(by_column));
    }
    return {narrow ? Cast(y, x.dtype()) : y};
  });
}

// ---- MaxRoiPool

// [regions, bins, size]: which positions a bin covers.
Expr Covered(const Expr& from, const Expr& to, double scale, int64_t bins, const Expr& size) {
  const auto rounded = [&](const Expr& at) {  // halves away from zero
    return Sign(at) * Floor(Abs(at * scale) + 0.5);
  };
  const Expr start = rounded(from), one = ScalarLike(from, 1);
  const Expr bin = Max(rounded(to) - start + 1.0, one) / static_cast<double>(bins);
  const Expr number = Cast(Iota(IntsLike(from, {bins})), from.dtype());
  const Expr first = Unsqueeze(Floor(number * bin) + start, {2});
  const Expr end = Unsqueeze(Ceil((number + 1.0) * bin) + start, {2});
  const Expr positions = Cast(Iota(size), from.dtype());
  return And(GreaterOrEqual(positions, first), Less(positions, end));
}

Gradients MaxRoiPoolRule(const GradientScope& s) {
  const std::vector<int64_t> bins = s.attributes().Ints("pooled_shape");
  const double scale = s.attributes().Float("spatial_scale", 1);
  const Expr rois = Cast(s.input(1), DType::kFloat32), x = s.input(0);
  const Expr down = Covered(Column(rois, 2), Column(rois, 4), scale, bins[0], DimOf(x, 2));
  const Expr right = Covered(Column(rois, 1), Column(rois, 3), scale, bins[1], DimOf(x, 3));
  return GradientsOf(s, [&](const std::vector<Expr>& inputs) -> std::vector<Expr> {
    const Expr batch = Cast(Squeeze(Column(rois, 0), {1}), DType::kInt64);
    const Expr images = Gather(inputs[0], batch), nothing = -Infinity(images);
    // [regions, channels, bins, rows, columns], then [..., bins, bins, columns]
    const Expr cut = Where(Unsqueeze(down, {1, 4}), Unsqueeze(images, {2}), nothing);
    const Expr rows = Unsqueeze(ReduceMax(cut, {3}, false), {3});
    const Expr y = ReduceMax(Where(Unsqueeze(right, {1, 2}), rows, nothing), {4}, false);
    return {Masked(Greater(y, nothing), y)};  // 0 in an empty bin
  });
}

constexpr training::GradientEntry kRules[] = {{"MaxRoiPool", MaxRoiPoolRule},
                                              {"RoiAlign", RoiAlignRule}};

}  // namespace

GradientList RoiGradients() { return kRules; }

}  // namespace onward::gradient
