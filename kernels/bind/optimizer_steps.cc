#include "kernels/bind/optimizer_steps.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

StepRule StepRuleOf(const NodeSpec& spec) {
  const std::string_view op = spec.node().op_type;
  const bool decoupled = spec.attributes().Int("decoupled", 0) != 0;
  if (op == "AdadeltaStep") return StepRule::kAdadelta;
  if (op == "AdagradStep") return StepRule::kAdagrad;
  if (op == "LionStep") return StepRule::kLion;
  if (op == "NAdamStep") return decoupled ? StepRule::kNAdamDecoupled : StepRule::kNAdam;
  if (op == "RAdamStep") return decoupled ? StepRule::kRAdamDecoupled : StepRule::kRAdam;
  if (op == "RMSpropStep") {
    if (spec.num_inputs() < 6) return StepRule::kRMSprop;
    return spec.num_inputs() < 7 ? StepRule::kRMSpropMomentum : StepRule::kRMSpropCenteredMomentum;
  }
  if (op == "SgdStep") {
    if (spec.num_inputs() < 5) return StepRule::kSgd;
    return spec.attributes().Int("nesterov", 0) != 0 ? StepRule::kSgdNesterov
                                                     : StepRule::kSgdMomentum;
  }
  const bool largest = spec.num_inputs() > 6;
  if (decoupled) return largest ? StepRule::kAdamDecoupledLargest : StepRule::kAdamDecoupled;
  return largest ? StepRule::kAdamLargest : StepRule::kAdam;
}

absl::Status CheckStep(const NodeSpec& spec, int states) {
  bool whole = spec.num_inputs() == 4 + states && spec.num_outputs() == 1 + states;
  for (int i = 0; whole && i < spec.num_inputs(); ++i) whole = spec.has_input(i);
  for (int i = 0; whole && i < spec.num_outputs(); ++i) whole = spec.has_output(i);
  if (!whole) return absl::UnimplementedError("some of the state is left out");
  const DType dtype = spec.input_dtype(0);
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64)
    return absl::UnimplementedError("float32 and float64 only");
  return absl::OkStatus();
}

absl::Status CheckStepDims(const BindContext& context, int input, DimsView dims) {
  if (context.input_dims(input) == dims) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", input, " has shape ",
                                                 DimsString(context.input_dims(input)),
                                                 ", must have ", DimsString(dims)));
}

absl::Status CheckSettings(const BindContext& context, int settings) {
  if (NumElements(context.input_dims(2)) == settings && NumElements(context.input_dims(3)) == 1)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("settings have shape ", DimsString(context.input_dims(2)), " and the step ",
                   DimsString(context.input_dims(3)), ", must be [", settings, "] and []"));
}

absl::Status BindStep(BindContext& context, int states, int settings) {
  const DimsView dims = context.input_dims(0);
  ONWARD_RETURN_IF_ERROR(CheckStepDims(context, 1, dims));
  for (int i = 0; i < 1 + states; ++i) {
    const int input = i == 0 ? 0 : 3 + i;
    ONWARD_RETURN_IF_ERROR(CheckStepDims(context, input, dims));
    context.SetOutput(i, dims);
    context.AllowInPlace(i, input);
  }
  return CheckSettings(context, settings);
}

absl::Status BindStepWithScalar(BindContext& context, int states, int settings) {
  ONWARD_RETURN_IF_ERROR(BindStep(context, states, settings));
  const DimsView scalar = context.input_dims(4 + states);
  if (!scalar.empty())
    return absl::InvalidArgumentError(absl::StrCat("input ", 4 + states, " has shape ",
                                                   DimsString(scalar), ", must be a scalar"));
  context.SetOutput(1 + states, {});
  context.AllowInPlace(1 + states, 4 + states);
  return absl::OkStatus();
}

}  // namespace onward::kernels
