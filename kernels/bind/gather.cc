#include "kernels/bind/gather.h"

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

}  // namespace onward::kernels
