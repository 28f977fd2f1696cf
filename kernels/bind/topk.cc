#include "kernels/bind/topk.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::StatusOr<const TopKPlan*> BindTopK(BindContext& context, int64_t given_axis) {
  const TensorView* k = context.input_value(1);
  if (k == nullptr) {
    ONWARD_RETURN_IF_ERROR(context.Defer());
    return nullptr;
  }
  const DimsView dims = context.input_dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(given_axis, rank));
  const int64_t dim = dims[static_cast<size_t>(axis)];
  const int64_t count = k->num_elements() == 1 ? *k->as<int64_t>() : -1;
  if (count < 0 || count > dim) {
    return absl::InvalidArgumentError(
        absl::StrCat("K is ", count, ", axis ", axis, " has size ", dim));
  }
  Dims out(dims.begin(), dims.end());
  out[static_cast<size_t>(axis)] = count;
  context.SetOutput(0, out);
  context.SetOutput(1, out);
  auto* plan = context.NewState<TopKPlan>();
  *plan = {NumElements(dims, 0, axis), dim, NumElements(dims, axis + 1, rank), count};
  return plan;
}

}  // namespace onward::kernels
