// The windows of convolutions and pools, and what their gradients have in common: sums of windows
// run backwards.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/gradient.h"

namespace onward::gradient {

// Windows over the axes from 2 on: output position o reads input positions
// o * stride + k * dilation - begin for k below `kernel`. `end` are the positions that are read
// after the last element, negative where elements at the end are not read.
struct Windows {
  std::vector<int64_t> kernel, strides, dilations;
  Expr begin, end;                                             // int64[spatial]
  std::optional<std::vector<int64_t>> fixed_begin, fixed_end;  // where the sizes are known
  bool pointwise = false;  // each reads one element of the input, and no padding

  size_t spatial() const { return kernel.size(); }
};

// The list of the node's attribute, or `otherwise` where there is none or an empty one.
std::vector<int64_t> ListOr(const GradientScope& s, std::string_view name,
                            std::vector<int64_t> otherwise);

// InvalidArgument: a list of the node's attributes is not of the length that the kernel asks for,
// `x` or `y` have another number of axes, or a number is so large that positions overflow.
absl::Status CheckWindows(const GradientScope& s, const std::vector<int64_t>& kernel, const Expr& x,
                          const Expr& y);

// Reads the node's attributes, for windows that read `x` and write `y`. Errors as CheckWindows().
absl::StatusOr<Windows> WindowsOf(const GradientScope& s, const Expr& x, const Expr& y,
                                  std::vector<int64_t> kernel);

// The sizes of a convolution's kernel.
absl::StatusOr<std::vector<int64_t>> KernelOf(const GradientScope& s, int weight);

// For windows whose strides and dilations are set: where they lie when `before` positions are read
// before the first element.
void PlaceWindows(const Expr& x, const Expr& y, std::vector<int64_t> before, Windows& windows);

// x with zeros before and after it, so that windows read nothing else.
Expr PadForWindows(const Expr& x, const Windows& windows);

// The convolution itself.
Expr Convolve(const Expr& x, const Expr& weight, const Windows& windows, int64_t groups);
// The adjoint of a convolution by its input: dy through the transposed convolution with `weight`,
// cut to the elements of the input.
Expr SpreadWindows(const Expr& dy, const Expr& weight, const Windows& windows, int64_t groups);
// The same for each channel alone, with ones as weights: the adjoint of sums of windows.
Expr SpreadEvenly(const Expr& dy, const Windows& windows);

// The adjoint of a convolution by its weights [filters, channels / groups, kernel...].
Expr WeightGradient(const Expr& x, const Expr& dy, const Windows& windows, int64_t groups);

}  // namespace onward::gradient
