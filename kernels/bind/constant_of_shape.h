// The dims of ConstantOfShape, and the element that it writes.
#pragma once

#include "absl/status/statusor.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Settles output 0, whose elements are of that dtype. Input 0: the shape.
absl::Status BindConstantOfShape(BindContext& context, DType dtype);

// Attribute "value", a tensor of one element; without it a float32 0. InvalidArgument: it has
// another number of elements.
absl::StatusOr<Tensor> ConstantOfShapeValue(const NodeSpec& spec);

}  // namespace onward::kernels
