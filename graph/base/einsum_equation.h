// The equation of Einsum: which axes of its operands have one name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace onward {

// A named axis: a letter's code, or kFirstEllipsisAxis + i for the i-th axis of the ellipsis.
using EinsumLabel = int16_t;
using EinsumLabels = absl::InlinedVector<EinsumLabel, 6>;
inline constexpr EinsumLabel kFirstEllipsisAxis = 128;
inline constexpr size_t kMaxEinsumLabels = 256;

// A label for each axis of each operand, in the operand's order, and for each axis of the output.
struct EinsumEquation {
  std::vector<EinsumLabels> terms;
  EinsumLabels output;
};

// For operands of these ranks. Without an arrow the output is the ellipsis and the letters that
// occur once, sorted. InvalidArgument: an equation that is not of the form "ab,bc->ac", another
// number of operands or axes than it names, an output label that no operand has or that stands
// twice.
absl::StatusOr<EinsumEquation> ParseEinsumEquation(std::string_view equation,
                                                   absl::Span<const size_t> ranks);

// "'i'", or "ellipsis axis 0".
std::string EinsumLabelName(EinsumLabel label);

}  // namespace onward
