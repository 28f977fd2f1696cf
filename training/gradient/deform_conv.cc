// DeformConv: a product of the weights with what the taps read at their offsets.
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"
#include "training/gradient/sample.h"
#include "training/gradient/window.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

// The sizes of a call, int64[1] each unless they are attributes.
struct Sizes {
  Expr batch, channels, rows, columns;  // of the input
  Expr out_rows, out_columns;
  int64_t taps, groups, offset_groups;
};

// Where output positions start along an axis and its taps lie, [1, ..., taps, ..., outputs, ...] of
// the offsets' rank.
Expr Grid(const Expr& outputs, const Windows& w, size_t axis, DType dtype) {
  std::vector<int64_t> taps, tap_shape(6, 1), output_shape(6, 1);
  for (int64_t k = 0; k < w.kernel[axis]; ++k) taps.push_back(k * w.dilations[axis]);
  tap_shape[2 + axis] = -1;
  output_shape[4 + axis] = -1;
  const Expr begin = Gather(w.begin, IntsLike(outputs, {static_cast<int64_t>(axis)}));
  const Expr starts = Iota(outputs) * IntsLike(outputs, {w.strides[axis]}) - begin;
  return Cast(Reshape(starts, output_shape) + Reshape(IntsLike(outputs, taps), tap_shape), dtype);
}

// [batch * offset groups, samples] of coordinates along an axis.
Expr Coordinates(const Expr& offset, const Windows& w, const Sizes& z, size_t axis) {
  const Expr sink = z.batch;
  const Expr split = Reshape(
      offset, expr::Concat({z.batch, IntsLike(sink, {z.offset_groups, w.kernel[0], w.kernel[1], 2}),
                            z.out_rows, z.out_columns},
                           0));
  const Expr moved =
      Gather(split, sink.sink()->Scalar(static_cast<double>(axis), DType::kInt64), 4);
  const Expr at = moved + Grid(axis == 0 ? z.out_rows : z.out_columns, w, axis, offset.dtype());
  const Expr images = z.batch * IntsLike(sink, {z.offset_groups});
  return Reshape(at, expr::Concat({images, IntsLike(sink, {-1})}, 0));
}

// The elements that the taps read, times the mask: [batch * offset groups, channels, samples].
Expr Columns(const std::vector<Expr>& inputs, const Windows& w, const Sizes& z) {
  const Expr x = inputs[0], groups = IntsLike(x, {z.offset_groups});
  const Expr height = ScalarOf(z.rows), width = ScalarOf(z.columns);
  const Expr images = z.batch * groups;
  const Expr image = Reshape(x, expr::Concat({images, z.channels / groups, z.rows * z.columns}, 0));
  const auto taps = [&](size_t axis, const Expr& size) {
    return LinearTaps(Coordinates(inputs[2], w, z, axis), size);
  };
  const Expr columns = SumOfTaps(image, {taps(0, height), taps(1, width)}, {height, width});
  if (inputs.size() < 5 || !inputs[4].valid()) return columns;
  return columns * Reshape(inputs[4], expr::Concat({images, IntsLike(x, {1, -1})}, 0));
}

Gradients DeformConvRule(const GradientScope& s) {
  const Expr output = s.output(0);
  ONWARD_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, KernelOf(s, 1));
  if (kernel.size() != 2) return absl::UnimplementedError("only two spatial axes have a gradient");
  ONWARD_ASSIGN_OR_RETURN(const Windows w, WindowsOf(s, s.input(0), output, std::move(kernel)));
  const Expr x = s.input(0);
  const Sizes z = {DimOf(x, 0),
                   DimOf(x, 1),
                   DimOf(x, 2),
                   DimOf(x, 3),
                   DimOf(output, 2),
                   DimOf(output, 3),
                   w.kernel[0] * w.kernel[1],
                   s.attributes().Int("group", 1),
                   s.attributes().Int("offset_group", 1)};
  return GradientsOf(s, [&](const std::vector<Expr>& inputs) -> std::vector<Expr> {
    const Expr weight = inputs[1], groups = IntsLike(weight, {z.groups});
    const Expr depth = z.channels / groups * IntsLike(weight, {z.taps});
    const Expr columns =
        Reshape(Columns(inputs, w, z),
                expr::Concat({z.batch, groups, depth, z.out_rows * z.out_columns}, 0));
    const Expr filters =
        Reshape(weight, expr::Concat({groups, DimOf(weight, 0) / groups, depth}, 0));
    const Expr y = Reshape(MatMul(filters, columns), Shape(output));
    if (inputs.size() < 4 || !inputs[3].valid()) return {y};
    return {y + Reshape(inputs[3], {-1, 1, 1})};
  });
}

constexpr training::GradientEntry kRules[] = {{"DeformConv", DeformConvRule}};

}  // namespace

GradientList DeformConvGradients() { return kRules; }

}  // namespace onward::gradient
