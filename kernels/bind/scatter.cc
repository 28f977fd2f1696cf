#include "kernels/bind/scatter.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {
namespace {

void CopyInto(BindContext& context) {
  context.SetOutput(0, context.input_dims(0));
  context.AllowInPlace(0, 0);
}

absl::Status DoNotFit(DimsView data, DimsView indices, DimsView updates) {
  return absl::InvalidArgumentError(absl::StrCat("indices of shape ", DimsString(indices),
                                                 " and updates of shape ", DimsString(updates),
                                                 " do not fit data of shape ", DimsString(data)));
}

}  // namespace

absl::Status BindScatterElements(BindContext& context, int64_t given_axis) {
  const DimsView dims = context.input_dims(0), indices = context.input_dims(1);
  ONWARD_ASSIGN_OR_RETURN(const int64_t axis,
                          NormalizeAxis(given_axis, static_cast<int64_t>(dims.size())));
  bool fits = indices.size() == dims.size() && context.input_dims(2) == indices;
  for (size_t i = 0; fits && i < dims.size(); ++i)
    fits = i == static_cast<size_t>(axis) || indices[i] <= dims[i];
  if (!fits) return DoNotFit(dims, indices, context.input_dims(2));
  const Dims strides = Strides(dims), index_strides = Strides(indices);
  *context.NewState<ScatterElementsPlan>() = {axis, context.Keep<int64_t>(strides).data(),
                                              context.Keep<int64_t>(index_strides).data()};
  CopyInto(context);
  return absl::OkStatus();
}

absl::Status BindScatterND(BindContext& context) {
  const DimsView dims = context.input_dims(0), indices = context.input_dims(1);
  const DimsView updates = context.input_dims(2);
  const int64_t depth = indices.empty() ? -1 : indices.back();
  if (depth < 0 || depth > static_cast<int64_t>(dims.size()))
    return DoNotFit(dims, indices, updates);
  Dims wanted(indices.begin(), indices.end() - 1);
  wanted.insert(wanted.end(), dims.begin() + depth, dims.end());
  if (updates != DimsView(wanted)) return DoNotFit(dims, indices, updates);
  const Dims strides = Strides(dims);
  *context.NewState<ScatterNDPlan>() = {
      depth, NumElements(indices, 0, static_cast<int64_t>(indices.size()) - 1),
      NumElements(dims, depth, static_cast<int64_t>(dims.size())),
      context.Keep<int64_t>(dims).data(), context.Keep<int64_t>(strides).data()};
  CopyInto(context);
  return absl::OkStatus();
}

}  // namespace onward::kernels
