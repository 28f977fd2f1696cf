// Examples put together to a batch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/tensor.h"

namespace onward::training {

// [count, ...] of `count` > 0 tensors of equal dtype and rank. Where dims differ, `pad` (not null)
// fills each up to the largest, at the end of every axis; rounded and cut to the dtype's range,
// which is a number's. InvalidArgument: dims differ without `pad`, or ranks or dtypes differ.
absl::StatusOr<Tensor> Stack(const std::vector<Tensor>& tensors, const double* pad);

// A copy of rows [begin, begin + rows) of the first dim.
Tensor RowsOf(const Tensor& batch, int64_t begin, int64_t rows);

}  // namespace onward::training
