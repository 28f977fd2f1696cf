#include "kernels/bind/grid_sample.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::StatusOr<GridOptions> ReadGridOptions(const NodeSpec& spec) {
  GridOptions options;
  const std::string mode = spec.attributes().String("mode", "linear");
  const std::string padding = spec.attributes().String("padding_mode", "zeros");
  options.align_corners = spec.attributes().Int("align_corners", 0) != 0;
  if (mode == "nearest") {
    options.mode = GridMode::kNearest;
  } else if (mode == "cubic") {
    options.mode = GridMode::kCubic;
  } else if (mode != "linear") {
    return absl::InvalidArgumentError(
        absl::StrCat("mode is '", mode, "', must be linear, nearest or cubic"));
  }
  if (padding == "border") {
    options.padding = GridPadding::kBorder;
  } else if (padding == "reflection") {
    options.padding = GridPadding::kReflection;
  } else if (padding != "zeros") {
    return absl::InvalidArgumentError(
        absl::StrCat("padding_mode is '", padding, "', must be zeros, border or reflection"));
  }
  return options;
}

absl::Status BindGridSample(BindContext& context) {
  const DimsView in = context.input_dims(0), grid = context.input_dims(1);
  bool fits = in.size() >= 3 && grid.size() == in.size() && in[0] == grid[0] &&
              grid.back() == static_cast<int64_t>(in.size()) - 2;
  for (size_t i = 2; fits && i < in.size(); ++i) fits = in[i] > 0;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("a grid of shape ", DimsString(grid),
                                                   " does not fit X of shape ", DimsString(in)));
  }
  Dims out = {in[0], in[1]};
  out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
  context.SetOutput(0, out);
  return absl::OkStatus();
}

absl::Status BindAffineGrid(BindContext& context) {
  const TensorView* size = context.input_value(1);
  if (size == nullptr) return context.Defer();
  const DimsView theta = context.input_dims(0);
  const absl::Span<const int64_t> dims = size->span<int64_t>();
  const auto axes = static_cast<int64_t>(dims.size()) - 2;
  const bool fits = axes >= 1 && theta.size() == 3 && theta[0] == dims[0] && theta[1] == axes &&
                    theta[2] == axes + 1;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("theta of shape ", DimsString(theta),
                                                   " does not fit size ", DimsString(dims)));
  }
  Dims out = {dims[0]};
  out.insert(out.end(), dims.begin() + 2, dims.end());
  out.push_back(axes);
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
  context.SetOutput(0, out);
  return absl::OkStatus();
}

}  // namespace onward::kernels
