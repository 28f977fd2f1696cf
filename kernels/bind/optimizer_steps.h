// Checks and Bind of the steps of optimizers (graph/optimizers).
#pragma once

#include "absl/status/status.h"
#include "kernels/optimizer_steps.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The rule of a step that is one pass, from its op, its attributes and the states that it has.
StepRule StepRuleOf(const NodeSpec& spec);

// Unimplemented when a state is left out (`states` are all of the op), or the parameter is neither
// float32 nor float64.
absl::Status CheckStep(const NodeSpec& spec, int states);

// InvalidArgument: input `input` is not of shape `dims`.
absl::Status CheckStepDims(const BindContext& context, int input, DimsView dims);

// Sets the outputs of a parameter and of `states` states that have its shape, in place of the
// inputs. InvalidArgument: shapes differ, or the settings are not `settings` doubles.
absl::Status BindStep(BindContext& context, int states, int settings);
absl::Status CheckSettings(const BindContext& context, int settings);

// The same of a step with one more state, behind the others: a scalar.
absl::Status BindStepWithScalar(BindContext& context, int states, int settings);

}  // namespace onward::kernels
