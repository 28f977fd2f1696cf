// The list that a kernel family gives to the provider. Its sources include this, not families.h, so
// that a new family does not recompile the others.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "onward/kernel.h"

namespace onward::kernels::cuda {

using KernelList = absl::Span<const KernelEntry>;

// Unimplemented: "the device has no loop for dtype string".
absl::Status NoLoopFor(DType dtype);

}  // namespace onward::kernels::cuda
