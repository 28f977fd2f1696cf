// Slice: geometry.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "kernels/bind/strided_view.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The node's inputs are as from opset 10 on: starts, ends, axes and steps are values of the host.
// Nullopt: one of them is not known yet.
absl::StatusOr<std::optional<StridedView>> SliceView(const BindContext& context);

}  // namespace onward::kernels
