#include "kernels/bind/one_integer.h"

#include "absl/strings/str_cat.h"

namespace onward::kernels {

absl::Status ReadOneInteger(const BindContext& context, int i, const char* name, int64_t* value,
                            bool* known) {
  if (!context.has_input(i)) return absl::OkStatus();
  if (NumElements(context.input_dims(i)) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has shape ", DimsString(context.input_dims(i)), ", must be a scalar"));
  }
  const TensorView* view = context.input_value(i);
  *known = *known && view != nullptr;
  if (view == nullptr) return absl::OkStatus();
  *value = view->dtype == DType::kInt32 ? *view->as<const int32_t>() : *view->as<const int64_t>();
  return absl::OkStatus();
}

}  // namespace onward::kernels
