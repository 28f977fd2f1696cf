// Tensors between the host and a device. Only ToHost reads the elements of one that lies on a
// device; sessions take it where SessionOptions::device_values names the input.
//
//   ONWARD_ASSIGN_OR_RETURN(onward::Tensor cache, onward::ToDevice(zeros, "cuda"));
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "onward/tensor.h"

namespace onward {

// The tensor itself where it lies on the host, else a copy there. Thread-safe.
absl::StatusOr<Tensor> ToHost(const Tensor& tensor);

// The tensor itself where it lies on the device of that provider ("cpu": the host), else a copy
// there. Unimplemented, FailedPrecondition: the provider is not built, or has no device here.
// InvalidArgument: strings. ResourceExhausted: the device has no memory left. Thread-safe.
absl::StatusOr<Tensor> ToDevice(const Tensor& tensor, std::string_view provider);

}  // namespace onward
