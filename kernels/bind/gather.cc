#include "kernels/bind/gather.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindGather(BindContext& context, int64_t axis) {
  const DimsView dims = context.input_dims(0), indices = context.input_dims(1);
  const auto rank = static_cast<int64_t>(dims.size());
  ONWARD_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
  Dims out(dims.begin(), dims.begin() + axis);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), dims.begin() + axis + 1, dims.end());
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
  context.SetOutput(0, out);
  *context.NewState<GatherSizes>() = {NumElements(dims, 0, axis), dims[static_cast<size_t>(axis)],
                                      NumElements(dims, axis + 1, rank), NumElements(indices)};
  return absl::OkStatus();
}

absl::Status BindGatherElements(BindContext& context, int64_t axis) {
  const DimsView dims = context.input_dims(0), indices = context.input_dims(1);
  ONWARD_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, static_cast<int64_t>(dims.size())));
  bool fits = indices.size() == dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i)
    fits = i == static_cast<size_t>(axis) || indices[i] <= dims[i];
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("indices of shape ", DimsString(indices),
                                                   " do not fit data of shape ", DimsString(dims)));
  }
  context.SetOutput(0, indices);
  const Dims strides = Strides(dims);
  *context.NewState<GatherElementsPlan>() = {axis, context.Keep<int64_t>(strides).data()};
  return absl::OkStatus();
}

absl::Status BindGatherND(BindContext& context, int64_t batch_dims) {
  const DimsView dims = context.input_dims(0), indices = context.input_dims(1);
  const auto rank = static_cast<int64_t>(dims.size());
  const auto index_rank = static_cast<int64_t>(indices.size());
  const int64_t depth = indices.empty() ? 0 : indices.back();
  bool fits = index_rank >= 1 && rank >= 1 && batch_dims < std::min(rank, index_rank) &&
              depth >= 1 && depth <= rank - batch_dims;
  for (int64_t i = 0; fits && i < batch_dims; ++i)
    fits = dims[static_cast<size_t>(i)] == indices[static_cast<size_t>(i)];
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("indices of shape ", DimsString(indices),
                                                   " do not fit data of shape ", DimsString(dims),
                                                   " with batch_dims ", batch_dims));
  }
  Dims out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), dims.begin() + batch_dims + depth, dims.end());
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
  context.SetOutput(0, out);
  const Dims strides = Strides(dims);
  *context.NewState<GatherNDPlan>() = {depth,
                                       NumElements(indices, batch_dims, index_rank - 1),
                                       NumElements(dims, batch_dims, rank),
                                       NumElements(dims, batch_dims + depth, rank),
                                       NumElements(indices, 0, index_rank - 1),
                                       context.Keep<int64_t>(dims).data() + batch_dims,
                                       context.Keep<int64_t>(strides).data() + batch_dims};
  return absl::OkStatus();
}

}  // namespace onward::kernels
