// DepthToSpace and SpaceToDepth as transpositions of a blocked view of NCHW.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/bind/strided_view.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct BlockAttributes {
  int64_t block = 1;
  bool depth_first = true;  // mode DCR
};

// InvalidArgument for a block below 1 or above 2^30, or an unknown mode.
absl::StatusOr<BlockAttributes> ParseBlocks(const NodeSpec& spec);

// InvalidArgument for dims that are not of rank 4 or that blocks do not divide.
absl::StatusOr<StridedView> DepthToSpaceView(const BlockAttributes& blocks, DimsView dims);
absl::StatusOr<StridedView> SpaceToDepthView(const BlockAttributes& blocks, DimsView dims);

}  // namespace onward::kernels
