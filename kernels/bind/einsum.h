// Einsum's equation, resolved against the dims of its operands.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/einsum_equation.h"
#include "onward/shape.h"

namespace onward::kernels {

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

// InvalidArgument: as ParseEinsumEquation, and sizes of one label that differ.
absl::StatusOr<EinsumTerms> ParseEinsum(std::string_view equation,
                                        absl::Span<const DimsView> operands);

}  // namespace onward::kernels
