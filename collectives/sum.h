// Sums of elements, for engines that add up on a CPU.
#pragma once

#include <cstddef>

#include "onward/dtype.h"

namespace onward::collectives {

// out[i] = a[i] + b[i]; `out` may be one of them. 16-bit floats add in float32.
using Sum = void (*)(void* out, const void* a, const void* b, size_t count);

// Null: tensors of the dtype are not added up.
Sum SumOf(DType dtype);

}  // namespace onward::collectives
