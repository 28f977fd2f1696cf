// The handle of emulated cuDNN, and how its calls begin and end.
#pragma once

#include <cudnn.h>

#include "tests/emulated_cuda/state.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

#define ENTER(call)                               \
  const onward::emulated_cuda::Entry entry(call); \
  if (entry.error() != cudaSuccess) return CUDNN_STATUS_INTERNAL_ERROR

namespace onward::emulated_cuda {

inline cudnnStatus_t StatusOf(cudaError_t error) {
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace onward::emulated_cuda
