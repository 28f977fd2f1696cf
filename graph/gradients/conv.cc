// The gradient of a convolution by its weights: itself a convolution, of the input by the output's
// gradient, with batch and channels exchanged, and strides and dilations.
#include "graph/gradients/gradients.h"

namespace onward::gradients {
namespace {

using namespace expr;  // NOLINT: formulas
using Ints = std::vector<int64_t>;

Expr SpatialShape(const Expr& x) { return Op("Shape", {x}, {{"start", int64_t{2}}}); }
Expr DimOf(const Expr& x, int64_t axis) { return Shape(x, axis, axis + 1); }

// X with zeros around it, or cut, so that the windows read all of it and nothing else.
Expr Padded(const FormulaCall& call, const Ints& kernel, const Ints& strides, const Ints& dilations,
            const Ints& pads) {
  const Expr dy = call.input(1), x = Saved(call.input(0), dy);
  ExprSink& sink = call.sink();
  Ints extents, axes;
  for (size_t i = 0; i < kernel.size(); ++i) {
    extents.push_back((kernel[i] - 1) * dilations[i] + 1);
    axes.push_back(static_cast<int64_t>(2 + i));
  }
  const Expr begin = sink.Ints(pads);
  const Expr read = (SpatialShape(dy) - 1.0) * sink.Ints(strides) + sink.Ints(extents);
  const Expr end = read - SpatialShape(x) - begin;
  return Op("Pad", {x, expr::Concat({begin, end}, 0), Expr(), sink.Ints(axes)});
}

// [batch, groups * channels, ...] as [channels, groups * batch, ...].
Expr Exchanged(ExprSink& sink, const Expr& x, int64_t groups, const Ints& exchange) {
  if (groups == 1) return Transpose(x, exchange);
  const Expr group = sink.Ints({groups}), channels = DimOf(x, 1) / group, sizes = SpatialShape(x);
  const Expr split = Reshape(x, expr::Concat({DimOf(x, 0), group, channels, sizes}, 0), true);
  Ints front = {2, 1, 0};
  for (size_t i = 2; i < exchange.size(); ++i) front.push_back(static_cast<int64_t>(1 + i));
  return Reshape(Transpose(split, front), expr::Concat({channels, group * DimOf(x, 0), sizes}, 0),
                 true);
}

std::vector<Expr> ConvWeightGradient(const FormulaCall& call) {
  const Attributes& attributes = call.attributes();
  const Ints kernel = attributes.Ints("kernel_shape");
  const size_t spatial = kernel.size();
  const Ints strides = attributes.Ints("strides", Ints(spatial, 1)),
             dilations = attributes.Ints("dilations", Ints(spatial, 1)),
             pads = attributes.Ints("pads", Ints(spatial, 0));
  if (strides.size() != spatial || dilations.size() != spatial || pads.size() != spatial) {
    call.Fail("kernel_shape, strides, dilations and pads must be of equal length");
    return {};
  }
  Ints exchange = {1, 0};
  for (size_t i = 0; i < spatial; ++i) exchange.push_back(static_cast<int64_t>(2 + i));
  const Expr images = Exchanged(call.sink(), Padded(call, kernel, strides, dilations, pads),
                                call.Int("group"), exchange);
  const Expr filters = Transpose(call.input(1), exchange);
  return {
      Transpose(Op("Conv", {images, filters},
                   {{"strides", dilations}, {"dilations", strides}, {"group", call.Int("group")}}),
                exchange)};
}

}  // namespace

std::vector<FormulaOp> ConvOps() {
  // `pads`: how many zeros stand before the first element of each spatial axis.
  return {
      {"ConvWeightGradient <kernel_shape: ints, strides: ints?, dilations: ints?, pads: ints?,"
       " group: int = 1> (X: S, dY: T) -> (dW: T)"
       " where S = float|double|float16|bfloat16, T = float|double|float16|bfloat16",
       ConvWeightGradient}};
}

}  // namespace onward::gradients
