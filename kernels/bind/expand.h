// Expand and Tile: geometry.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "kernels/bind/strided_view.h"
#include "onward/kernel.h"

namespace onward::kernels {

// Input 1, a value of the host, is the shape that the input broadcasts to. Nullopt: it is not known
// yet.
absl::StatusOr<std::optional<StridedView>> ExpandView(const BindContext& context);

// Input 1 has the repeats of each axis. The box has two axes for each of the output: the repeats,
// and the elements. Nullopt: as ExpandView.
absl::StatusOr<std::optional<StridedView>> TileView(const BindContext& context);

}  // namespace onward::kernels
