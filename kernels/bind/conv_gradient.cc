#include "kernels/bind/conv_gradient.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onward::kernels {

absl::StatusOr<ConvWeightAttributes> ConvWeightAttributes::Parse(const NodeSpec& spec) {
  const std::vector<int64_t> sizes = spec.attributes().Ints("kernel_shape");
  if (sizes.empty() || sizes.size() > 2) return absl::UnimplementedError("one or two spatial axes");
  const auto list = [&](const char* name, int64_t otherwise) {
    const std::vector<int64_t> values =
        spec.attributes().Ints(name, std::vector<int64_t>(sizes.size(), otherwise));
    return Dims(values.begin(), values.end());
  };
  const auto below = [](const Dims& values, int64_t least) {
    return std::any_of(values.begin(), values.end(), [&](int64_t v) { return v < least; });
  };
  ConvWeightAttributes a;
  a.kernel.assign(sizes.begin(), sizes.end());
  a.strides = list("strides", 1), a.dilations = list("dilations", 1), a.pads = list("pads", 0);
  a.group = spec.attributes().Int("group", 1);
  if (a.strides.size() != sizes.size() || a.dilations.size() != sizes.size() ||
      a.pads.size() != sizes.size() || below(a.kernel, 1) || below(a.strides, 1) ||
      below(a.dilations, 1) || a.group < 1) {
    return absl::InvalidArgumentError(
        "kernel_shape, strides, dilations and pads must be of equal length and above 0");
  }
  return a;
}

absl::StatusOr<WindowAxes> ConvWeightAttributes::Axes(DimsView x, DimsView dy) const {
  if (x.size() != kernel.size() + 2 || dy.size() != x.size() || x[0] != dy[0] ||
      x[1] % group != 0 || dy[1] % group != 0) {
    return absl::InvalidArgumentError(absl::StrCat("X ", DimsString(x), " and dY ", DimsString(dy),
                                                   " do not fit ", group,
                                                   " groups and a kernel of rank ", kernel.size()));
  }
  WindowAxes axes(kernel.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].input = x[2 + i], axes[i].output = dy[2 + i];
    axes[i].kernel = kernel[i], axes[i].stride = strides[i], axes[i].dilation = dilations[i];
    axes[i].pad_begin = pads[i];
    const int64_t read = (axes[i].output - 1) * axes[i].stride + axes[i].extent();
    axes[i].pad_end = std::max<int64_t>(0, read - axes[i].input - axes[i].pad_begin);
  }
  return axes;
}

Dims ConvWeightAttributes::OutputDims(DimsView x, DimsView dy) const {
  Dims output = {dy[1], x[1] / group};
  output.insert(output.end(), kernel.begin(), kernel.end());
  return output;
}

}  // namespace onward::kernels
