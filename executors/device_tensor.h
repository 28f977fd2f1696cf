// Tensors in a provider's memory.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executors/provider.h"
#include "onward/device_tensor.h"
#include "onward/graph.h"

namespace onward::executors {

// An uninitialised tensor. InvalidArgument: strings on a device. ResourceExhausted.
absl::StatusOr<Tensor> NewTensor(const ExecutionProvider& provider, DType dtype, DimsView dims);

// The inputs and outputs that SessionOptions::device_values means. InvalidArgument: a name is not
// that of an input or output, or its values cannot lie on a device.
absl::StatusOr<std::vector<std::string>> DeviceValuesOf(const Graph& graph,
                                                        const std::vector<std::string>& names);

}  // namespace onward::executors
