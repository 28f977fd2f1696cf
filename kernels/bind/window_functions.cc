#include "kernels/bind/window_functions.h"

#include "absl/strings/str_cat.h"
#include "kernels/bind/one_integer.h"
#include "onward/status.h"

namespace onward::kernels {

absl::Status BindWindow(BindContext& context) {
  int64_t size = 0;
  bool known = true;
  ONWARD_RETURN_IF_ERROR(ReadOneInteger(context, 0, "size", &size, &known));
  if (!known) return context.Defer();
  if (size < 0 || size > kMostTableElements)
    return absl::InvalidArgumentError(absl::StrCat("size is ", size, ", is out of range"));
  context.SetOutput(0, {size});
  return absl::OkStatus();
}

}  // namespace onward::kernels
