#include "kernels/bind/window.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"

namespace onward::kernels {
namespace {

absl::StatusOr<Dims> ParseList(const NodeSpec& spec, const char* name, int64_t least) {
  const std::vector<int64_t> values = spec.attributes().Ints(name);
  for (int64_t value : values) {
    if (value < least || value > (int64_t{1} << 40))
      return absl::InvalidArgumentError(
          absl::StrCat(name, " holds ", value, ", expected at least ", least));
  }
  return Dims(values.begin(), values.end());
}

absl::Status CheckLength(const char* name, size_t length, size_t rank) {
  if (length == 0 || length == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", length, " elements, expected ", rank));
}

// Output size and padding of one axis; the formulas are those of the standard's pools.
absl::Status Place(AutoPad auto_pad, bool ceil_mode, WindowAxis& axis) {
  const int64_t extent = axis.extent();
  if (auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower) {
    axis.output = axis.input / axis.stride + (axis.input % axis.stride != 0);
    const int64_t total =
        std::max<int64_t>(0, (axis.output - 1) * axis.stride + extent - axis.input);
    axis.pad_begin = auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
    axis.pad_end = total - axis.pad_begin;
    return absl::OkStatus();
  }
  if (auto_pad == AutoPad::kValid) axis.pad_begin = axis.pad_end = 0;
  const int64_t room = axis.input + axis.pad_begin + axis.pad_end - extent;
  if (room < 0) {
    if (axis.input == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "a window of ", extent, " is larger than the padded input of ", room + extent));
  }
  axis.output = room / axis.stride + 1;
  if (ceil_mode && room % axis.stride != 0) {
    // A window that starts in the end padding is dropped.
    if (axis.output * axis.stride < axis.input + axis.pad_begin) ++axis.output;
  }
  return absl::OkStatus();
}

}  // namespace

int64_t InputSize(const WindowAxes& axes) {
  int64_t size = 1;
  for (const WindowAxis& axis : axes) size *= axis.input;
  return size;
}

int64_t OutputSize(const WindowAxes& axes) {
  int64_t size = 1;
  for (const WindowAxis& axis : axes) size *= axis.output;
  return size;
}

int64_t KernelSize(const WindowAxes& axes) {
  int64_t size = 1;
  for (const WindowAxis& axis : axes) size *= axis.kernel;
  return size;
}

absl::StatusOr<WindowAttributes> WindowAttributes::Parse(const NodeSpec& spec) {
  WindowAttributes result;
  const std::string auto_pad = spec.attributes().String("auto_pad", "NOTSET");
  if (auto_pad == "VALID") {
    result.auto_pad = AutoPad::kValid;
  } else if (auto_pad == "SAME_UPPER") {
    result.auto_pad = AutoPad::kSameUpper;
  } else if (auto_pad == "SAME_LOWER") {
    result.auto_pad = AutoPad::kSameLower;
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unknown auto_pad '", auto_pad, "'"));
  }
  ONWARD_ASSIGN_OR_RETURN(result.kernel, ParseList(spec, "kernel_shape", 1));
  ONWARD_ASSIGN_OR_RETURN(result.strides, ParseList(spec, "strides", 1));
  ONWARD_ASSIGN_OR_RETURN(result.dilations, ParseList(spec, "dilations", 1));
  ONWARD_ASSIGN_OR_RETURN(result.pads, ParseList(spec, "pads", 0));
  result.ceil_mode = spec.attributes().Int("ceil_mode", 0) != 0;
  return result;
}

absl::StatusOr<WindowAxes> ResolveWindow(const WindowAttributes& attributes, DimsView input,
                                         DimsView kernel) {
  const size_t rank = input.size();
  if (kernel.size() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("the window has ", kernel.size(), " spatial axes, the input has ", rank));
  }
  ONWARD_RETURN_IF_ERROR(CheckLength("strides", attributes.strides.size(), rank));
  ONWARD_RETURN_IF_ERROR(CheckLength("dilations", attributes.dilations.size(), rank));
  ONWARD_RETURN_IF_ERROR(CheckLength("pads", attributes.pads.size(), 2 * rank));
  WindowAxes axes(rank);
  Dims padded(rank), taps(kernel.begin(), kernel.end());
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& axis = axes[i];
    axis.input = input[i];
    axis.kernel = kernel[i];
    if (!attributes.strides.empty()) axis.stride = attributes.strides[i];
    if (!attributes.dilations.empty()) axis.dilation = attributes.dilations[i];
    if (!attributes.pads.empty()) {
      axis.pad_begin = attributes.pads[i];
      axis.pad_end = attributes.pads[rank + i];
    }
    if (axis.kernel < 1 || !CheckedMul(axis.kernel, axis.dilation).has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("the kernel's size along spatial axis ", i,
                                                     " is ", axis.kernel, ", out of range"));
    }
    if (absl::Status placed = Place(attributes.auto_pad, attributes.ceil_mode, axis); !placed.ok())
      return Annotate(placed, absl::StrCat("spatial axis ", i, ": "));
    padded[i] = axis.input + axis.pad_begin + axis.pad_end;
  }
  ONWARD_RETURN_IF_ERROR(CheckedNumElements(taps).status());
  ONWARD_RETURN_IF_ERROR(CheckedNumElements(padded).status());
  return axes;
}

void OutputsOfTap(const WindowAxis& axis, int64_t k, int64_t* begin, int64_t* end) {
  // o * stride + offset in [0, input)
  const int64_t offset = k * axis.dilation - axis.pad_begin;
  const int64_t first = offset >= 0 ? 0 : (-offset + axis.stride - 1) / axis.stride;
  const int64_t last =
      offset >= axis.input ? 0 : (axis.input - offset + axis.stride - 1) / axis.stride;
  *end = std::min(last, axis.output);
  *begin = std::min(first, *end);
}

}  // namespace onward::kernels
