// The strides at which the elements of an output lie in the input that they are copied from: the
// geometry of Transpose, Slice, Expand and Tile.
#pragma once

#include "onward/shape.h"

namespace onward::kernels {

struct StridedView {
  Dims output;         // the op's output dims
  Dims dims, strides;  // a box in the output's order, and the input's elements along it; 0 repeats
  int64_t offset = 0;  // of the box's first element in the input
};

}  // namespace onward::kernels
