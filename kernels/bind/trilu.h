// Trilu of matrices; k lies on the host.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Settles output 0, in place of the input.
absl::Status BindTrilu(BindContext& context);

// The diagonal k of a run, 0 where it is omitted. Beyond the matrix every k means the same.
int64_t TriluDiagonal(const RunContext& context);

}  // namespace onward::kernels
