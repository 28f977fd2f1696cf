// The geometry of Col2Im; the sizes of image and block lie on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Lists as written; an absent one is empty. `pads` holds the begins of all axes, then the ends.
struct Col2ImAttributes {
  std::vector<int64_t> dilations, pads, strides;

  static Col2ImAttributes Read(const NodeSpec& spec);
};

// Column j's element k of an axis lies at j * stride + k * dilation - pad of the image.
struct Col2ImAxis {
  int64_t image = 0, block = 0, columns = 0;  // sizes; columns: positions of the block
  int64_t dilation = 1, pad = 0, stride = 1;
  int64_t image_inner = 1, block_inner = 1, columns_inner = 1;  // products over the axes after it
};

// The input is [planes, block, columns], the output [planes, image].
struct Col2ImPlan {
  int64_t axes = 0, columns = 0, block = 0, image = 0, planes = 0;
  const Col2ImAxis* of_axis = nullptr;
};

// Keeps Col2ImPlan as the state and settles output 0; defers the node where the sizes are not known
// yet. InvalidArgument where blocks do not fit.
absl::Status BindCol2Im(BindContext& context, const Col2ImAttributes& attributes);

}  // namespace onward::kernels
