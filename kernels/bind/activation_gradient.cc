#include "kernels/bind/activation_gradient.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindActivationGradient(BindContext& context) {
  if (context.input_dims(0) != context.input_dims(1)) {
    return absl::InvalidArgumentError(absl::StrCat("dY is ", DimsString(context.input_dims(1)),
                                                   ", the activation's value ",
                                                   DimsString(context.input_dims(0))));
  }
  for (const int i : {2, 3}) {
    if (context.has_input(i) && NumElements(context.input_dims(i)) != 1)
      return absl::InvalidArgumentError("a bound must be a scalar");
  }
  context.SetOutput(0, context.input_dims(0));
  context.AllowInPlace(0, 1);
  return absl::OkStatus();
}

}  // namespace onward::kernels
