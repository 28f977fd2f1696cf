#include "kernels/bind/clip.h"

#include "absl/strings/str_cat.h"

namespace onward::kernels {

absl::Status BindClip(BindContext& context) {
  for (int i : {1, 2}) {
    if (context.has_input(i) && NumElements(context.input_dims(i)) != 1) {
      return absl::InvalidArgumentError(absl::StrCat(i == 1 ? "min" : "max", " has shape ",
                                                     DimsString(context.input_dims(i)),
                                                     ", must be a scalar"));
    }
  }
  context.SetOutput(0, context.input_dims(0));
  context.AllowInPlace(0, 0);
  return absl::OkStatus();
}

}  // namespace onward::kernels
