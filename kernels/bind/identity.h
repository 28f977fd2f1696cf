// Identity, Flatten, Squeeze, Unsqueeze, Reshape, RequireShape: ops whose output has the elements
// of input 0 in the same order, and its memory where the plan allows that.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::kernels {

using BindSameElements = std::function<absl::Status(BindContext&)>;

// The Bind of a node of one of these ops; of any other op, that of Identity. Shapes and axes are
// values of the host.
BindSameElements BindOfSameElements(const NodeSpec& spec);

}  // namespace onward::kernels
