#include "kernels/bind/rotary_embedding.h"

namespace onward::kernels {

absl::Status BindRotaryEmbedding(BindContext& context, const RotaryAttributes& attributes) {
  const DimsView ids = context.has_input(3) ? context.input_dims(3) : DimsView();
  ONWARD_ASSIGN_OR_RETURN(const RotaryGeometry g,
                          RotaryDims(attributes, context.input_dims(0), context.input_dims(1),
                                     context.input_dims(2), context.has_input(3) ? &ids : nullptr));
  context.SetOutput(0, context.input_dims(0));
  *context.NewState<RotaryGeometry>() = g;
  return absl::OkStatus();
}

}  // namespace onward::kernels
