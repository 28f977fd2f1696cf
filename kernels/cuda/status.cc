#include "kernels/cuda/status.h"

#include "absl/strings/str_cat.h"

namespace onward::kernels::cuda {

absl::Status ToStatus(cudaError_t error) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat("CUDA: ", cudaGetErrorString(error));
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(message)
                                            : absl::InternalError(message);
}

}  // namespace onward::kernels::cuda
