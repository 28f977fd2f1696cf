#include "kernels/bind/dropout.h"

#include "absl/strings/str_cat.h"
#include "kernels/functor.h"

namespace onward::kernels {

bool MayDrop(const NodeSpec& spec) {
  if (!spec.has_input(2)) return false;
  const Tensor* mode = spec.constant(2);
  return mode == nullptr || mode->num_elements() != 1 || *mode->data<bool>();
}

absl::Status BindDropout(BindContext& context, bool may_drop) {
  for (int i : {1, 2}) {
    if (context.has_input(i) && NumElements(context.input_dims(i)) != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(i == 1 ? "ratio" : "training_mode", " has shape ",
                       DimsString(context.input_dims(i)), ", must be a scalar"));
    }
  }
  context.SetOutput(0, context.input_dims(0));
  if (context.has_output(1)) context.SetOutput(1, context.input_dims(0));
  if (may_drop) {
    context.AllowInPlace(0, 0);
  } else {
    context.AliasOutput(0, 0);
  }
  return absl::OkStatus();
}

absl::StatusOr<double> DropoutRatio(const RunContext& context, bool may_drop) {
  if (!may_drop || !*context.in<bool>(2)) return 0.0;
  double ratio = 0.5;
  if (context.has_input(1)) {
    DispatchDType(DropoutTypes(), context.input(1).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ratio = static_cast<double>(static_cast<ComputeType<T>>(*context.in<T>(1)));
    });
  }
  if (!(ratio >= 0.0 && ratio < 1.0))
    return absl::InvalidArgumentError(absl::StrCat("ratio is ", ratio, ", must be in [0, 1)"));
  return ratio;
}

}  // namespace onward::kernels
