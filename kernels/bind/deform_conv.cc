#include "kernels/bind/deform_conv.h"

#include "absl/strings/str_cat.h"
#include "kernels/bind/check_dims.h"
#include "onward/shape.h"

namespace onward::kernels {
absl::StatusOr<DeformConvAttributes> DeformConvAttributes::Parse(const NodeSpec& spec) {
  DeformConvAttributes result;
  ONWARD_ASSIGN_OR_RETURN(result.conv, ConvAttributes::Parse(spec));
  result.offset_group = spec.attributes().Int("offset_group", 1);
  if (result.offset_group < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("offset_group is ", result.offset_group, ", must be at least 1"));
  return result;
}

absl::Status BindDeformConv(BindContext& context, const DeformConvAttributes& attributes) {
  const DimsView bias = context.has_input(3) ? context.input_dims(3) : DimsView();
  ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g,
                          ConvDims(attributes.conv, context.input_dims(0), context.input_dims(1),
                                   context.has_input(3) ? &bias : nullptr));
  if (g.axes.size() != 2) {
    return absl::UnimplementedError(
        absl::StrCat("DeformConv of ", g.axes.size(), " spatial axes, expected 2"));
  }
  const int64_t offset_group = attributes.offset_group;
  if (g.channels % offset_group != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(g.channels, " channels do not divide into ", offset_group, " offset groups"));
  }
  const int64_t taps = g.kernel_size() * offset_group;
  Dims expected = {g.batch, 2 * taps, g.axes[0].output, g.axes[1].output};
  ONWARD_RETURN_IF_ERROR(CheckDims("offset", context.input_dims(2), expected));
  expected[1] = taps;
  if (context.has_input(4))
    ONWARD_RETURN_IF_ERROR(CheckDims("mask", context.input_dims(4), expected));
  context.SetOutput(0, g.output);
  *context.NewState<DeformConvPlan>() = {
      {g.axes[0], g.axes[1]}, g.batch,         g.channels,     g.filters, g.group,
      offset_group,           g.kernel_size(), g.output_size()};
  return absl::OkStatus();
}

}  // namespace onward::kernels
