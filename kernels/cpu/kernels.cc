#include "kernels/cpu/kernels.h"

namespace onward {

const std::vector<KernelEntry>& CpuKernels() {
  static const std::vector<KernelEntry> kernels = [] {
    using Family = cpu::KernelList (*)();
    // Fast kernels stand before reference ones.
    constexpr Family kFamilies[] = {
        cpu::MatMulKernels,
        cpu::ReferenceAttention,
        cpu::ReferenceBinary,
        cpu::ReferenceClip,
        cpu::ReferenceCompare,
        cpu::ReferenceConv,
        cpu::ReferenceIdentity,
        cpu::ReferenceMatMul,
        cpu::ReferencePool,
        cpu::ReferencePow,
        cpu::ReferenceRecurrent,
        cpu::ReferenceRotaryEmbedding,
        cpu::ReferenceUnary,
        cpu::ReferenceVariadic,
        cpu::ReferenceWhere,
    };
    std::vector<KernelEntry> all;
    for (Family family : kFamilies) {
      const cpu::KernelList list = family();
      all.insert(all.end(), list.begin(), list.end());
    }
    return all;
  }();
  return kernels;
}

}  // namespace onward
