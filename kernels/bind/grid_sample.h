// GridSample and AffineGrid, as all providers bind them.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/bind/grid_taps.h"
#include "onward/kernel.h"

namespace onward::kernels {

// InvalidArgument for a mode or a padding_mode that the standard does not name.
absl::StatusOr<GridOptions> ReadGridOptions(const NodeSpec& spec);

// Settles output 0. Inputs X, grid.
absl::Status BindGridSample(BindContext& context);

// Settles output 0; defers the node where the size, which lies on the host, is not known yet.
absl::Status BindAffineGrid(BindContext& context);

}  // namespace onward::kernels
