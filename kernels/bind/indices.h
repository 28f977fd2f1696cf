// Elements of index tensors: Gather, Scatter and the like.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/functor.h"
#include "onward/tensor.h"

namespace onward::kernels {

// Element i of a tensor of int32 or int64.
inline int64_t IndexAt(const TensorView& view, int64_t i) {
  return view.dtype == DType::kInt32 ? view.as<const int32_t>()[i] : view.as<const int64_t>()[i];
}

// Maps an index in [-dim, dim) to [0, dim), anything else to -1.
ONWARD_HOST_DEVICE inline int64_t Wrapped(int64_t index, int64_t dim) {
  const int64_t wrapped = index < 0 ? index + dim : index;
  return wrapped >= 0 && wrapped < dim ? wrapped : -1;
}

// InvalidArgument: the index at that position of `indices` is out of range for an axis of size
// `dim`.
absl::Status BadIndex(const TensorView& indices, int64_t position, int64_t dim);

}  // namespace onward::kernels
