#include "kernels/bind/pool_gradient.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::StatusOr<PoolGeometry> BindMaxPoolGradient(BindContext& context,
                                                 const PoolAttributes& attributes) {
  ONWARD_ASSIGN_OR_RETURN(PoolGeometry g, PoolDims(attributes, context.input_dims(0)));
  if (DimsView(g.output) != context.input_dims(1)) {
    return absl::InvalidArgumentError(absl::StrCat("dY is ", DimsString(context.input_dims(1)),
                                                   ", the pool's output ", DimsString(g.output)));
  }
  context.SetOutput(0, context.input_dims(0));
  if (g.input_size() > std::numeric_limits<int32_t>::max())
    return absl::UnimplementedError("a plane of more than 2^31 elements");
  return g;
}

}  // namespace onward::kernels
