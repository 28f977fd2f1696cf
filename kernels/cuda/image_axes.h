// The axes of an image, of which a line is one too.
#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/types/span.h"
#include "kernels/bind/window.h"

namespace onward::kernels::cuda {

inline constexpr WindowAxis kOneElement = {1, 1, 1, 1, 1, 0, 0};

// The axis of the rows of windows over one or two axes; a line is an image of one row.
inline WindowAxis RowsOf(const WindowAxes& axes) {
  return axes.size() == 1 ? kOneElement : axes[0];
}

// Fills `axes` with the given ones, which are no more, behind axes of one element.
template <size_t kAxes>
void FillAxes(absl::Span<const WindowAxis> given, WindowAxis (&axes)[kAxes]) {
  const size_t missing = kAxes - given.size();
  std::fill_n(axes, missing, kOneElement);
  std::copy(given.begin(), given.end(), axes + missing);
}

}  // namespace onward::kernels::cuda
