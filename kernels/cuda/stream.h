// The stream of a run.
#pragma once

#include <cuda_runtime.h>

#include "onward/kernel.h"

namespace onward::kernels::cuda {

inline cudaStream_t StreamOf(const RunContext& context) {
  return static_cast<cudaStream_t>(context.services()->stream());
}

}  // namespace onward::kernels::cuda
