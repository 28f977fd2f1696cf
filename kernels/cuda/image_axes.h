// The axes of an image, of which a line is one too.
#pragma once

#include "kernels/shapes/window.h"

namespace onward::kernels::cuda {

// The axis of the rows of windows over one or two axes; a line is an image of one row.
inline WindowAxis RowsOf(const WindowAxes& axes) {
  return axes.size() == 1 ? WindowAxis{1, 1, 1, 1, 1, 0, 0} : axes[0];
}

}  // namespace onward::kernels::cuda
