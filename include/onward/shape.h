// Concrete shapes and the arithmetic that every layer shares.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace onward {

using Dims = absl::InlinedVector<int64_t, 6>;
using DimsView = absl::Span<const int64_t>;

// Product of dims that are already validated (see CheckedNumElements); 1 for rank 0.
inline int64_t NumElements(DimsView dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

// Product of dims[begin, end).
inline int64_t NumElements(DimsView dims, int64_t begin, int64_t end) {
  int64_t count = 1;
  for (int64_t i = begin; i < end; ++i) count *= dims[static_cast<size_t>(i)];
  return count;
}

// Row-major strides in elements.
Dims Strides(DimsView dims);

// The standard's multidirectional broadcasting; InvalidArgument names both shapes.
absl::StatusOr<Dims> BroadcastDims(DimsView a, DimsView b);

// Strides that read a tensor of `dims` as if it had the shape `to` (0 along broadcast axes). `to`
// must be a broadcast of `dims`.
Dims BroadcastStrides(DimsView dims, DimsView to);

// Maps an axis in [-rank, rank) to [0, rank); InvalidArgument otherwise.
absl::StatusOr<int64_t> NormalizeAxis(int64_t axis, int64_t rank);

// "[1,3,224,224]"
std::string DimsString(DimsView dims);

}  // namespace onward
