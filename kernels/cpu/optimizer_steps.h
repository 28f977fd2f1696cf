// The grain of the work of optimizers' steps.
#pragma once

#include <cstdint>

namespace onward::kernels::cpu {

// Elements that one thread takes at a time.
inline constexpr int64_t kStepGrain = 8 * 1024;

}  // namespace onward::kernels::cpu
