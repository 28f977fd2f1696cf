// The activation of a fused op.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "kernels/activation_spec.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The attributes activation, activation_alpha and activation_beta of fused ops, `prefix` before
// each; nothing for other ops. InvalidArgument: an unknown name.
absl::StatusOr<ActivationSpec> ParseActivation(const NodeSpec& spec, std::string_view prefix = "");

}  // namespace onward::kernels
