#include "kernels/bind/cumulative.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindCumulative(BindContext& context) {
  const DimsView dims = context.input_dims(0);
  if (NumElements(context.input_dims(1)) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis has shape ", DimsString(context.input_dims(1)), ", must be a scalar"));
  }
  const TensorView* value = context.input_value(1);
  if (value == nullptr) return context.Defer();
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t given =
      value->dtype == DType::kInt32 ? *value->as<const int32_t>() : *value->as<const int64_t>();
  ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(given, rank));
  *context.NewState<CumulativePlan>() = {NumElements(dims, 0, axis),
                                         dims[static_cast<size_t>(axis)],
                                         NumElements(dims, axis + 1, rank)};
  context.SetOutput(0, dims);
  context.AllowInPlace(0, 0);
  return absl::OkStatus();
}

}  // namespace onward::kernels
