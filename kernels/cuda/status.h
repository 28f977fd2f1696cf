// Errors of the CUDA runtime as absl::Status; those of the other libraries are in libraries.h,
// whose headers are large.
#pragma once

#include <cuda_runtime.h>

#include "absl/status/status.h"

namespace onward::kernels::cuda {

// OK, ResourceExhausted (no device memory) or Internal, with CUDA's own words.
absl::Status ToStatus(cudaError_t error);

}  // namespace onward::kernels::cuda
