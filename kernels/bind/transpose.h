// Transpose: attributes and geometry.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/bind/strided_view.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The attribute perm, empty where it is not given. InvalidArgument: it is not a permutation.
absl::StatusOr<std::vector<int64_t>> TransposePerm(const NodeSpec& spec);

// `perm` empty: the axes in reverse. InvalidArgument: it has another rank.
absl::StatusOr<StridedView> TransposeView(absl::Span<const int64_t> perm, DimsView dims);

}  // namespace onward::kernels
