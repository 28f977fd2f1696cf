// Requests of one model that run together, along the first axis of its inputs and outputs.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/session.h"

namespace onward::serving {

// The first dim that all inputs have; 0 where there is none.
int64_t RowsOf(const Session::Inputs& inputs);
// Returns whether the inputs are equal but for their rows: names, types and the other dims.
bool CanJoin(const Session::Inputs& a, const Session::Inputs& b);

// The rows of all, one after the other; CanJoin holds. ResourceExhausted: too little memory.
absl::StatusOr<Session::Inputs> Join(absl::Span<const Session::Inputs* const> parts);
// Rows [first, first + rows) of each output; they refer to its memory.
Session::Outputs RowsFrom(const Session::Outputs& joined, int64_t first, int64_t rows);

}  // namespace onward::serving
