// The extension classification: the best classes as text instead of the scores.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/tensor.h"

namespace onward::serving {

// BYTES [k] for scores of rank 1 or less, else [dim 0, k]: "value:index:label", the highest first
// and of equal ones that with the lower index, NaN last; k is `most` or the number of scores, if
// that is less. Indices beyond `labels` have none. InvalidArgument: `scores` are not numbers.
absl::StatusOr<Tensor> BestClasses(const Tensor& scores, uint64_t most,
                                   absl::Span<const std::string> labels);

}  // namespace onward::serving
