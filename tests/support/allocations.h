// Counts the program's requests for memory. A program that calls this gets a malloc that counts.
#pragma once

#include <cstdint>

#include "tests/support/sanitized.h"

namespace onward::testing {

// So far, from all threads. Not under a sanitizer, whose malloc stays: 0 always.
int64_t Allocations();
#ifdef ONWARD_SANITIZED
inline constexpr bool kCountsAllocations = false;
#else
inline constexpr bool kCountsAllocations = true;
#endif

}  // namespace onward::testing
