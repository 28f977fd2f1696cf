#include "kernels/bind/softmax.h"

#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindSoftmax(BindContext& context, int64_t axis) {
  const DimsView dims = context.input_dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  auto* split = context.NewState<AxisSplit>();
  if (rank > 0 || (axis != 0 && axis != -1)) {
    ONWARD_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
    *split = {NumElements(dims, 0, axis), dims[static_cast<size_t>(axis)],
              NumElements(dims, axis + 1, rank)};
  }
  context.SetOutput(0, dims);
  return absl::OkStatus();
}

}  // namespace onward::kernels
