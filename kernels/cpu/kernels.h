// The CPU provider's kernels: one list per family, fastest first within an op, the portable
// reference last.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Every CPU kernel; for one op the entries stand in the order in which they are tried.
const std::vector<KernelEntry>& CpuKernels();

}  // namespace onward::kernels
