#include "kernels/bind/pool.h"

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"

namespace onward::kernels {

int64_t PoolGeometry::input_size() const { return InputSize(axes); }
int64_t PoolGeometry::output_size() const { return OutputSize(axes); }

absl::StatusOr<PoolAttributes> PoolAttributes::Parse(const NodeSpec& spec) {
  PoolAttributes result;
  ONWARD_ASSIGN_OR_RETURN(result.window, WindowAttributes::Parse(spec));
  if (result.window.kernel.empty()) return absl::InvalidArgumentError("kernel_shape is missing");
  result.count_include_pad = spec.attributes().Int("count_include_pad", 0) != 0;
  result.column_major = spec.attributes().Int("storage_order", 0) != 0;
  ONWARD_ASSIGN_OR_RETURN(result.p, LpPoolPower(spec));
  return result;
}

absl::StatusOr<int64_t> LpPoolPower(const NodeSpec& spec) {
  const int64_t p = spec.attributes().Int("p", 2);
  if (p < 1) return absl::InvalidArgumentError(absl::StrCat("p is ", p, ", must be at least 1"));
  return p;
}

absl::StatusOr<PoolGeometry> PoolDims(const PoolAttributes& attributes, DimsView x) {
  if (x.size() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("X ", DimsString(x), " must have rank 3 or more"));
  }
  PoolGeometry result;
  ONWARD_ASSIGN_OR_RETURN(result.axes,
                          ResolveWindow(attributes.window, x.subspan(2), attributes.window.kernel));
  result.planes = x[0] * x[1];
  result.output = {x[0], x[1]};
  for (const WindowAxis& axis : result.axes) result.output.push_back(axis.output);
  ONWARD_RETURN_IF_ERROR(CheckedNumElements(result.output).status());
  return result;
}

absl::StatusOr<Dims> GlobalPoolDims(DimsView x) {
  if (x.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X ", DimsString(x), " must have rank 2 or more"));
  }
  Dims output(x.size(), 1);
  output[0] = x[0];
  output[1] = x[1];
  return output;
}

absl::StatusOr<Dims> MaxUnpoolDims(const PoolAttributes& attributes, DimsView x) {
  const WindowAttributes& window = attributes.window;
  const size_t rank = window.kernel.size();
  if (x.size() != rank + 2 || (!window.strides.empty() && window.strides.size() != rank) ||
      (!window.pads.empty() && window.pads.size() != 2 * rank)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "X ", DimsString(x), ", strides or pads do not fit a window of ", rank, " spatial axes"));
  }
  Dims output = {x[0], x[1]};
  for (size_t i = 0; i < rank; ++i) {
    const auto steps = CheckedMul(x[i + 2] - 1, window.strides.empty() ? 1 : window.strides[i]);
    const int64_t pads = window.pads.empty() ? 0 : window.pads[i] + window.pads[rank + i];
    const auto size = steps ? CheckedAdd(*steps, window.kernel[i] - pads) : std::nullopt;
    if (!size || *size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the output size of spatial axis ", i, " is out of range"));
    }
    output.push_back(*size);
  }
  ONWARD_RETURN_IF_ERROR(CheckedNumElements(output).status());
  return output;
}

}  // namespace onward::kernels
