// The list that a kernel family gives to the provider. Its sources include this, not families.h, so
// that a new family does not recompile the others.
#pragma once

#include "absl/types/span.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

using KernelList = absl::Span<const KernelEntry>;

}  // namespace onward::kernels::cpu
