// Errors of CUDA's libraries as absl::Status.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include "absl/status/status.h"

namespace onward::kernels::cuda {

// OK, ResourceExhausted (no device memory) or Internal, with the library's own words.
absl::Status ToStatus(cudaError_t error);
absl::Status ToStatus(cublasStatus_t error);
absl::Status ToStatus(cudnnStatus_t error);

// The calling thread's handles for the current device, made at first use and kept for the thread's
// life.
absl::Status GetCublasLt(cublasLtHandle_t* handle);
absl::Status GetCudnn(cudaStream_t stream, cudnnHandle_t* handle);

}  // namespace onward::kernels::cuda
