// Einsum's equation, resolved against the dims of its operands.
#pragma once

#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "onward/shape.h"

namespace onward::kernels {

// A named axis: a letter's code, or 128 + i for the i-th axis of the ellipsis.
using EinsumLabel = int16_t;
using EinsumLabels = absl::InlinedVector<EinsumLabel, 6>;

// One operand as a walk over its labels, each once: repeated labels walk the diagonal, axes of
// length 1 under a longer label have stride 0.
struct EinsumOperand {
  EinsumLabels labels;
  Dims sizes;
  Dims strides;  // in elements
};

struct EinsumTerms {
  std::vector<EinsumOperand> operands;
  EinsumLabels output_labels;
  Dims output;
};

// InvalidArgument: an equation that is not of the form "ab,bc->ac", another number of operands or
// axes than it names, sizes of one label that differ.
absl::StatusOr<EinsumTerms> ParseEinsum(std::string_view equation,
                                        absl::Span<const DimsView> operands);

}  // namespace onward::kernels
