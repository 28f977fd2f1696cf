// cuBLASLt and cuDNN: their errors as absl::Status, and the handles that their calls take.
#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#include "absl/status/status.h"

namespace onward::kernels::cuda {

// OK or Internal, with the library's own words; Unimplemented for what cuDNN does not support.
absl::Status LibraryStatus(cublasStatus_t error);
absl::Status LibraryStatus(cudnnStatus_t error);

// The calling thread's handles for the current device, made at first use and kept for the thread's
// life.
absl::Status GetCublasLt(cublasLtHandle_t* handle);
absl::Status GetCudnn(cudaStream_t stream, cudnnHandle_t* handle);

}  // namespace onward::kernels::cuda
