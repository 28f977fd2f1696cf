// Inputs that must be one integer.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Reads an int32 or int64; `*known` becomes false where the value is not known yet. Leaves both
// alone where the input is absent. InvalidArgument: the input has not one element.
absl::Status ReadOneInteger(const BindContext& context, int i, const char* name, int64_t* value,
                            bool* known);

}  // namespace onward::kernels
