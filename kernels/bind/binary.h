// The dims of ops of two operands.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/broadcast.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct BinaryRules {
  bool same_size = true;  // operands' and output's elements have equal size: in place is possible
  bool to_first = false;  // operand 1 broadcasts to the shape of operand 0
  bool equal = false;     // nothing broadcasts
};

// Keeps BroadcastLoop<2> as the state and settles output 0, in place of an operand where possible.
absl::Status BindBinary(BindContext& context, const BinaryRules& rules);

// Returns whether a BitShift shifts to the left.
absl::StatusOr<bool> ShiftsLeft(const NodeSpec& spec);

}  // namespace onward::kernels
