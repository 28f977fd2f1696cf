#include "kernels/bind/conv.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"

namespace onward::kernels {
namespace {

// Checks what Conv and ConvTranspose share: ranks, channels of a group, bias length.
absl::Status CheckRanks(DimsView x, DimsView w, const DimsView* bias, int64_t filters) {
  if (x.size() < 3 || w.size() != x.size()) {
    return absl::InvalidArgumentError(absl::StrCat("X ", DimsString(x), " and W ", DimsString(w),
                                                   " must have equal ranks of at least 3"));
  }
  if (bias != nullptr && (bias->size() != 1 || (*bias)[0] != filters)) {
    return absl::InvalidArgumentError(
        absl::StrCat("B has shape ", DimsString(*bias), ", expected [", filters, "]"));
  }
  return absl::OkStatus();
}

absl::Status CheckKernelShape(const WindowAttributes& window, DimsView kernel) {
  if (window.kernel.empty() || DimsView(window.kernel) == kernel) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("kernel_shape is ", DimsString(window.kernel),
                                                 ", W's kernel is ", DimsString(kernel)));
}

// Sizes of one transposed axis: fills input (ConvTranspose's output) and the padding.
absl::Status PlaceTransposed(AutoPad auto_pad, int64_t output_padding, int64_t wanted,
                             WindowAxis& axis) {
  const auto steps = CheckedMul(axis.output - 1, axis.stride);
  const auto extent = CheckedMul(axis.kernel - 1, axis.dilation);
  const auto reach = steps && extent ? CheckedAdd(*steps, *extent) : std::nullopt;
  if (!reach || *reach > (int64_t{1} << 60))
    return absl::InvalidArgumentError("the output size overflows");
  const int64_t full = *reach + 1 + output_padding;
  const bool same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  if (wanted < 0 && same) wanted = axis.output * axis.stride;
  if (wanted >= 0) {
    const int64_t total = std::max<int64_t>(0, full - wanted);
    axis.pad_begin = auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
    axis.pad_end = total - axis.pad_begin;
    axis.input = wanted;
    return absl::OkStatus();
  }
  if (auto_pad == AutoPad::kValid) axis.pad_begin = axis.pad_end = 0;
  axis.input = axis.output == 0 ? 0 : full - axis.pad_begin - axis.pad_end;
  if (axis.input < 0) {
    return absl::InvalidArgumentError(absl::StrCat("padding of ", axis.pad_begin + axis.pad_end,
                                                   " exceeds the output of ", full));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t ConvGeometry::input_size() const { return InputSize(axes); }
int64_t ConvGeometry::output_size() const { return OutputSize(axes); }
int64_t ConvGeometry::kernel_size() const { return KernelSize(axes); }

absl::StatusOr<ConvAttributes> ConvAttributes::Parse(const NodeSpec& spec) {
  ConvAttributes result;
  ONWARD_ASSIGN_OR_RETURN(result.window, WindowAttributes::Parse(spec));
  result.window.ceil_mode = false;
  result.group = spec.attributes().Int("group", 1);
  if (result.group < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("group is ", result.group, ", must be at least 1"));
  return result;
}

absl::StatusOr<ConvGeometry> ConvDims(const ConvAttributes& attributes, DimsView x, DimsView w,
                                      const DimsView* bias) {
  ONWARD_RETURN_IF_ERROR(CheckRanks(x, w, bias, w.empty() ? 0 : w[0]));
  ConvGeometry result;
  result.batch = x[0];
  result.channels = x[1];
  result.filters = w[0];
  result.group = attributes.group;
  if (w[1] * result.group != result.channels || w[0] % result.group != 0) {
    return absl::InvalidArgumentError(absl::StrCat("X ", DimsString(x), " and W ", DimsString(w),
                                                   " do not fit with group ", result.group));
  }
  ONWARD_RETURN_IF_ERROR(CheckKernelShape(attributes.window, w.subspan(2)));
  ONWARD_ASSIGN_OR_RETURN(result.axes,
                          ResolveWindow(attributes.window, x.subspan(2), w.subspan(2)));
  result.output = {result.batch, result.filters};
  for (const WindowAxis& axis : result.axes) result.output.push_back(axis.output);
  ONWARD_RETURN_IF_ERROR(CheckedNumElements(result.output).status());
  return result;
}

absl::StatusOr<ConvTransposeAttributes> ConvTransposeAttributes::Parse(const NodeSpec& spec) {
  ConvTransposeAttributes result;
  ONWARD_ASSIGN_OR_RETURN(result.conv, ConvAttributes::Parse(spec));
  const std::vector<int64_t> padding = spec.attributes().Ints("output_padding");
  const std::vector<int64_t> shape = spec.attributes().Ints("output_shape");
  for (int64_t value : padding) {
    if (value < 0 || value > (int64_t{1} << 40))
      return absl::InvalidArgumentError(
          absl::StrCat("output_padding holds ", value, ", must be 0 to 2^40"));
  }
  for (int64_t value : shape) {
    if (value < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("output_shape holds ", value, ", must be at least 0"));
  }
  result.output_padding.assign(padding.begin(), padding.end());
  result.output_shape.assign(shape.begin(), shape.end());
  return result;
}

absl::StatusOr<ConvGeometry> ConvTransposeDims(const ConvTransposeAttributes& attributes,
                                               DimsView x, DimsView w, const DimsView* bias) {
  const WindowAttributes& window = attributes.conv.window;
  const int64_t group = attributes.conv.group;
  const auto filters = w.size() < 2 ? std::optional<int64_t>(0) : CheckedMul(w[1], group);
  if (!filters) return absl::InvalidArgumentError("the number of filters overflows");
  ONWARD_RETURN_IF_ERROR(CheckRanks(x, w, bias, *filters));
  if (w[0] != x[1] || x[1] % group != 0) {
    return absl::InvalidArgumentError(absl::StrCat("X ", DimsString(x), " and W ", DimsString(w),
                                                   " do not fit with group ", group));
  }
  const size_t rank = x.size() - 2;
  ONWARD_RETURN_IF_ERROR(CheckKernelShape(window, w.subspan(2)));
  const Dims& shape = attributes.output_shape;
  const size_t skip = shape.size() == rank + 2 ? 2 : 0;
  const auto fits = [&](const Dims& list, size_t length) {
    return list.empty() || list.size() == length;
  };
  if (!fits(window.strides, rank) || !fits(window.dilations, rank) ||
      !fits(window.pads, 2 * rank) || !fits(attributes.output_padding, rank) ||
      !fits(shape, rank + skip)) {
    return absl::InvalidArgumentError(
        absl::StrCat("strides, dilations, pads, output_padding or output_shape do not fit ", rank,
                     " spatial axes"));
  }
  ConvGeometry result;
  result.batch = x[0];
  result.channels = x[1];
  result.filters = *filters;
  result.group = group;
  result.axes.resize(rank);
  result.output = {result.batch, result.filters};
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& axis = result.axes[i];
    axis.output = x[i + 2];
    axis.kernel = w[i + 2];
    if (axis.kernel < 1)
      return absl::InvalidArgumentError(absl::StrCat("W has shape ", DimsString(w),
                                                     ", its kernel must have sizes of at least 1"));
    if (!window.strides.empty()) axis.stride = window.strides[i];
    if (!window.dilations.empty()) axis.dilation = window.dilations[i];
    if (!window.pads.empty()) {
      axis.pad_begin = window.pads[i];
      axis.pad_end = window.pads[rank + i];
    }
    const int64_t padding = attributes.output_padding.empty() ? 0 : attributes.output_padding[i];
    const int64_t wanted = shape.empty() ? -1 : shape[skip + i];
    if (absl::Status placed = PlaceTransposed(window.auto_pad, padding, wanted, axis); !placed.ok())
      return Annotate(placed, absl::StrCat("spatial axis ", i, ": "));
    result.output.push_back(axis.input);
  }
  ONWARD_RETURN_IF_ERROR(CheckedNumElements(result.output).status());
  return result;
}

absl::StatusOr<ConvGeometry> ConvDims(const ConvAttributes& attributes,
                                      const BindContext& context) {
  const DimsView bias = context.has_input(2) ? context.input_dims(2) : DimsView();
  return ConvDims(attributes, context.input_dims(0), context.input_dims(1),
                  context.has_input(2) ? &bias : nullptr);
}

absl::StatusOr<ConvGeometry> ConvTransposeDims(const ConvTransposeAttributes& attributes,
                                               const BindContext& context) {
  const DimsView bias = context.has_input(2) ? context.input_dims(2) : DimsView();
  return ConvTransposeDims(attributes, context.input_dims(0), context.input_dims(1),
                           context.has_input(2) ? &bias : nullptr);
}

absl::Status CheckResidual(const BindContext& context, DimsView output) {
  if (!context.has_input(3) || context.input_dims(3) == output) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Z has shape ", DimsString(context.input_dims(3)),
                                                 ", the result ", DimsString(output)));
}

}  // namespace onward::kernels
