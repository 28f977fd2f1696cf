#include "kernels/bind/eye_like.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindEyeLike(BindContext& context) {
  if (context.input_dims(0).size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("the input must be a matrix, its shape is ",
                                                   DimsString(context.input_dims(0))));
  }
  context.SetOutput(0, context.input_dims(0));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> EyeLikeOne(const NodeSpec& spec) {
  const auto dtype =
      static_cast<DType>(spec.attributes().Int("dtype", static_cast<int64_t>(spec.input_dtype(0))));
  absl::StatusOr<Tensor> one = absl::UnimplementedError("dtype");
  DispatchDType(Concat<NumericTypes, TypeList<bool>>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    one = Tensor::Scalar(T(1));
  });
  return one;
}

}  // namespace onward::kernels
