// The CUDA provider's kernels: one list per family.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "onward/kernel.h"

namespace onward {

const std::vector<KernelEntry>& CudaKernels();

namespace cuda {

using KernelList = absl::Span<const KernelEntry>;

KernelList BinaryKernels();
KernelList ConcatKernels();
KernelList ConvKernels();
KernelList CopyKernels();
KernelList IdentityKernels();
KernelList MatMulKernels();
KernelList NormalizationKernels();
KernelList PoolKernels();
KernelList SoftmaxKernels();
KernelList StridedCopyKernels();
KernelList UnaryKernels();

}  // namespace cuda
}  // namespace onward
