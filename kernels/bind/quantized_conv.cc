#include "kernels/bind/quantized_conv.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {
namespace {

absl::Status CheckScalar(const BindContext& context, int i, const char* name) {
  if (i < 0 || !context.has_input(i) || NumElements(context.input_dims(i)) == 1)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has shape ", DimsString(context.input_dims(i)), ", must be a scalar"));
}

absl::Status CheckPerFilter(const BindContext& context, int i, const char* name, int64_t filters) {
  if (!context.has_input(i)) return absl::OkStatus();
  const int64_t count = NumElements(context.input_dims(i));
  if (count == 1 || count == filters) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " has shape ",
                                                 DimsString(context.input_dims(i)),
                                                 ", must have 1 or ", filters, " elements"));
}

absl::Status BindSizes(BindContext& context, const ConvAttributes& attributes,
                       const QuantizedConvInputs& inputs) {
  const bool has_bias = inputs.bias >= 0 && context.has_input(inputs.bias);
  const DimsView bias = has_bias ? context.input_dims(inputs.bias) : DimsView();
  ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g,
                          ConvDims(attributes, context.input_dims(0), context.input_dims(inputs.w),
                                   has_bias ? &bias : nullptr));
  ONWARD_RETURN_IF_ERROR(CheckScalar(context, inputs.x_zero, "x_zero_point"));
  ONWARD_RETURN_IF_ERROR(CheckPerFilter(context, inputs.w_zero, "w_zero_point", g.filters));
  context.SetOutput(0, g.output);
  *context.NewState<QuantizedConvSizes>() = {
      context.Keep<WindowAxis>(absl::Span<const WindowAxis>(g.axes)),
      g.batch,
      g.channels,
      g.filters,
      g.group,
      g.kernel_size(),
      g.input_size(),
      g.output_size()};
  return absl::OkStatus();
}

}  // namespace

absl::Status BindConvInteger(BindContext& context, const ConvAttributes& attributes) {
  return BindSizes(context, attributes, kConvIntegerInputs);
}

absl::Status BindQLinearConv(BindContext& context, const ConvAttributes& attributes) {
  ONWARD_RETURN_IF_ERROR(BindSizes(context, attributes, kQLinearConvInputs));
  ONWARD_RETURN_IF_ERROR(CheckScalar(context, 1, "x_scale"));
  ONWARD_RETURN_IF_ERROR(
      CheckPerFilter(context, 4, "w_scale", context.input_dims(kQLinearConvInputs.w)[0]));
  ONWARD_RETURN_IF_ERROR(CheckScalar(context, 6, "y_scale"));
  return CheckScalar(context, 7, "y_zero_point");
}

}  // namespace onward::kernels
