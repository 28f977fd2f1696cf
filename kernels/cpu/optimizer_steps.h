// Checks that kernels of optimizers' steps (graph/optimizers) make of a node.
#pragma once

#include "absl/status/status.h"
#include "kernels/cpu/targets.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// Elements that one thread takes at a time.
inline constexpr int64_t kStepGrain = 8 * 1024;

// Unimplemented when this process may not use `set`, a state is left out (`states` are all of the
// op), or the parameter is neither float32 nor float64.
absl::Status CheckStep(const NodeSpec& spec, int states);

// InvalidArgument: input `input` is not of shape `dims`.
absl::Status CheckStepDims(const BindContext& context, int input, DimsView dims);

// Sets the outputs of a parameter and of `states` states that have its shape, in place of the
// inputs. InvalidArgument: shapes differ, or the settings are not `settings` doubles.
absl::Status BindStep(BindContext& context, int states, int settings);
absl::Status CheckSettings(const BindContext& context, int settings);

}  // namespace onward::kernels::cpu
