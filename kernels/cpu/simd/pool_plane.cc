#include "kernels/cpu/simd/pool_plane.h"

#include <algorithm>

namespace onward::kernels::cpu {

int64_t PoolScratch(const PoolPlane& plane) {
  const int64_t reach = (plane.out_columns - 1) * plane.stride_columns +
                        (plane.kernel_columns - 1) * plane.dilation_columns + 1;
  // One combined row with its padding, the same split by phase, and room for whole vectors.
  const int64_t row = std::max(reach, plane.pad_columns + plane.in_columns);
  return 2 * (row + 64 * (plane.stride_columns + 1));
}

}  // namespace onward::kernels::cpu
