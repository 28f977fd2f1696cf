#include "kernels/bind/variadic.h"

#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindVariadic(BindContext& context, int num_inputs) {
  Dims dims(context.input_dims(0).begin(), context.input_dims(0).end());
  for (int i = 1; i < num_inputs; ++i) {
    ONWARD_ASSIGN_OR_RETURN(dims, BroadcastDims(dims, context.input_dims(i)));
  }
  context.SetOutput(0, dims);
  // A longer chain would read later operands after it wrote the output.
  if (num_inputs <= 2 && context.input_dims(0) == DimsView(dims)) context.AllowInPlace(0, 0);
  auto* loops = context.NewArray<BroadcastLoop<2>>(num_inputs);
  *context.NewState<const BroadcastLoop<2>*>() = loops;
  const DimsView all(dims);
  Dims common;
  for (int i = 1; i < num_inputs; ++i) {
    const DimsView shapes[2] = {i == 1 ? context.input_dims(0) : all, context.input_dims(i)};
    ONWARD_RETURN_IF_ERROR(BuildBroadcastLoop<2>(shapes, &all, &common, loops + i));
  }
  return absl::OkStatus();
}

}  // namespace onward::kernels
