#include "kernels/bind/arg_reduce.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindArgReduce(BindContext& context, int64_t given_axis, bool keep_dims) {
  const DimsView dims = context.input_dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  auto* plan = context.NewState<ArgPlan>();
  if (rank == 0 && (given_axis == 0 || given_axis == -1)) {
    context.SetOutput(0, {});
    return absl::OkStatus();
  }
  ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(given_axis, rank));
  *plan = {NumElements(dims, 0, axis), dims[static_cast<size_t>(axis)],
           NumElements(dims, axis + 1, rank)};
  if (plan->count == 0 && plan->outer * plan->inner > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " of shape ", DimsString(dims), " is empty"));
  }
  Dims out(dims.begin(), dims.end());
  if (keep_dims) {
    out[static_cast<size_t>(axis)] = 1;
  } else {
    out.erase(out.begin() + axis);
  }
  context.SetOutput(0, out);
  return absl::OkStatus();
}

}  // namespace onward::kernels
