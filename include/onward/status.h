// Control flow over absl::Status. Everything a model, a user, a file or a device can cause is a
// Status; aborts are for broken invariants that no input can reach.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onward {

// Returns `status` with `context` put before its message; OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

}  // namespace onward

#define ONWARD_CONCAT_INNER(a, b) a##b
#define ONWARD_CONCAT(a, b) ONWARD_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` (an absl::Status) is not OK.
#define ONWARD_RETURN_IF_ERROR(expr)                                                       \
  do {                                                                                     \
    if (absl::Status onward_status_ = (expr); !onward_status_.ok()) return onward_status_; \
  } while (false)

// Evaluates `expr` (an absl::StatusOr), returns its error or assigns its value to `lhs`.
#define ONWARD_ASSIGN_OR_RETURN(lhs, expr) \
  ONWARD_ASSIGN_OR_RETURN_INNER(ONWARD_CONCAT(onward_status_or_, __LINE__), lhs, expr)
#define ONWARD_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                                  \
  if (!result.ok()) return std::move(result).status();   \
  lhs = *std::move(result)
