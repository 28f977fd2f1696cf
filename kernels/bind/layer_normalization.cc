#include "kernels/bind/layer_normalization.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {
namespace {

// Returns whether `dims`, less leading ones, are `part`, less leading ones.
bool Covers(DimsView dims, DimsView part) {
  while (!dims.empty() && dims.front() == 1) dims.remove_prefix(1);
  while (!part.empty() && part.front() == 1) part.remove_prefix(1);
  return dims == part;
}

}  // namespace

absl::StatusOr<LayerRows> BindLayerRows(BindContext& context, int64_t axis) {
  const DimsView dims = context.input_dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  ONWARD_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
  context.SetOutput(0, dims);
  return LayerRows{NumElements(dims, 0, axis), NumElements(dims, axis, rank)};
}

DimsView NormalisedDims(DimsView dims, int64_t axis) {
  const auto rank = static_cast<int64_t>(dims.size());
  return dims.last(static_cast<size_t>(axis < 0 ? -axis : rank - axis));
}

void BindLayerStatistics(BindContext& context, int64_t axis) {
  const DimsView dims = context.input_dims(0);
  Dims statistics(dims.begin(), dims.end());
  std::fill(statistics.end() - static_cast<std::ptrdiff_t>(NormalisedDims(dims, axis).size()),
            statistics.end(), 1);
  for (int i = 1; i < 3; ++i) {
    if (context.has_output(i)) context.SetOutput(i, statistics);
  }
}

absl::Status BindLayerNormalization(BindContext& context, int64_t axis, bool adds) {
  const int first = adds ? 2 : 1;
  auto* plan = context.NewState<LayerPlan>();
  ONWARD_ASSIGN_OR_RETURN(static_cast<LayerRows&>(*plan), BindLayerRows(context, axis));
  const DimsView dims = context.input_dims(0);
  if (adds && context.has_input(1) && context.input_dims(1) != dims) {
    return absl::InvalidArgumentError(absl::StrCat(
        "X ", DimsString(dims), " and Z ", DimsString(context.input_dims(1)), " differ in shape"));
  }
  const DimsView scale = context.input_dims(first);
  const DimsView bias = context.has_input(first + 1) ? context.input_dims(first + 1) : scale;
  const DimsView normalised = NormalisedDims(dims, axis);
  plan->simple = Covers(scale, normalised) && Covers(bias, normalised);
  if (!plan->simple) {
    const DimsView shapes[2] = {scale, bias};
    Dims common;
    ONWARD_RETURN_IF_ERROR(BuildBroadcastLoop<2>(shapes, &dims, &common, &plan->affine));
  }
  if (!adds) {
    BindLayerStatistics(context, axis);
  } else if (context.has_output(1)) {
    context.SetOutput(1, dims);
  }
  return absl::OkStatus();
}

absl::StatusOr<LayerRows> BindLayerNormalizationGradient(BindContext& context) {
  ONWARD_ASSIGN_OR_RETURN(const LayerRows rows, BindLayerRows(context, -1));
  const DimsView x = context.input_dims(0), scale = context.input_dims(1),
                 dy = context.input_dims(2);
  if (dy != x) {
    return absl::InvalidArgumentError(
        absl::StrCat("dY is ", DimsString(dy), ", X ", DimsString(x)));
  }
  if (scale.size() != 1 || scale[0] != rows.columns) {
    return absl::InvalidArgumentError(
        absl::StrCat("scale is ", DimsString(scale), ", a row of X ", DimsString({rows.columns})));
  }
  for (int i = 1; i < 3; ++i) {
    if (context.has_output(i)) context.SetOutput(i, {rows.columns});
  }
  return rows;
}

}  // namespace onward::kernels
