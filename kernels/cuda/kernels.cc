#include "kernels/cuda/kernels.h"

namespace onward {

const std::vector<KernelEntry>& CudaKernels() {
  static const std::vector<KernelEntry> kernels = [] {
    using Family = cuda::KernelList (*)();
    constexpr Family kFamilies[] = {
        cuda::BinaryKernels,        cuda::ConcatKernels,   cuda::ConvKernels,
        cuda::CopyKernels,          cuda::IdentityKernels, cuda::MatMulKernels,
        cuda::NormalizationKernels, cuda::PoolKernels,     cuda::SoftmaxKernels,
        cuda::StridedCopyKernels,   cuda::UnaryKernels,
    };
    std::vector<KernelEntry> all;
    for (Family family : kFamilies) {
      const cuda::KernelList list = family();
      all.insert(all.end(), list.begin(), list.end());
    }
    return all;
  }();
  return kernels;
}

}  // namespace onward
