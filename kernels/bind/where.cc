#include "kernels/bind/where.h"

#include "onward/status.h"

namespace onward::kernels {

absl::Status BindWhere(BindContext& context) {
  const DimsView shapes[3] = {context.input_dims(0), context.input_dims(1), context.input_dims(2)};
  Dims dims;
  ONWARD_RETURN_IF_ERROR(
      BuildBroadcastLoop<3>(shapes, nullptr, &dims, context.NewState<BroadcastLoop<3>>()));
  context.SetOutput(0, dims);
  for (int i : {1, 2}) {
    if (shapes[i] == DimsView(dims)) context.AllowInPlace(0, i);
  }
  return absl::OkStatus();
}

}  // namespace onward::kernels
