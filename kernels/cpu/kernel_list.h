// What a kernel family hands to the provider. Family sources include this and not families.h, so
// that a new family does not recompile the others.
#pragma once

#include "absl/types/span.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

using KernelList = absl::Span<const KernelEntry>;

}  // namespace onward::kernels::cpu
