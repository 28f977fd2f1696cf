// The CUDA provider's kernels.
#pragma once

#include <vector>

#include "onward/kernel.h"

namespace onward::kernels {

const std::vector<KernelEntry>& CudaKernels();

}  // namespace onward::kernels
