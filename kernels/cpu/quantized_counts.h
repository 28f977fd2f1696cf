// Numbers of scales, zero points and biases of 8-bit products. Inputs below 0, or absent, are in
// order; else InvalidArgument says which shape does not fit.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

absl::Status CheckOneElement(const BindContext& context, std::initializer_list<int> inputs);
// One element for all channels, or one a channel.
absl::Status CheckOneOrEach(const BindContext& context, std::initializer_list<int> inputs,
                            int64_t channels);
// One element a channel.
absl::Status CheckEach(const BindContext& context, int input, int64_t channels);

}  // namespace onward::kernels::cpu
