// Constants of integers, which shapes and axes are.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "graph/rewrite/patch.h"

namespace onward {

// One axis of int64.
ValueId AddIntegers(Patch& patch, absl::Span<const int64_t> elements);

}  // namespace onward
