#include "kernels/bind/constant_of_shape.h"

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"

namespace onward::kernels {

absl::Status BindConstantOfShape(BindContext& context, DType dtype) {
  const TensorView* shape = context.input_value(0);
  if (shape == nullptr) return context.Defer();
  const absl::Span<const int64_t> dims = shape->span<int64_t>();
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(dtype, dims).status());
  context.SetOutput(0, dims);
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ConstantOfShapeValue(const NodeSpec& spec) {
  const Tensor* value = spec.attributes().TensorOrNull("value");
  if (value == nullptr) return Tensor::Of<float>({1}, {0});
  if (value->num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the attribute value must have one element, not ", value->num_elements()));
  }
  return *value;
}

}  // namespace onward::kernels
