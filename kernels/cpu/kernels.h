// The CPU provider's kernels: one list per family, fastest first within an op, the portable
// reference last.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "kernels/cpu/kernel_list.h"

namespace onward {

// Every CPU kernel; for one op the entries stand in the order in which they are tried.
const std::vector<KernelEntry>& CpuKernels();

namespace cpu {

using KernelList = absl::Span<const KernelEntry>;

// SIMD kernels: kernels/cpu/<family>.cc
KernelList MatMulKernels();

// Reference kernels: kernels/cpu/reference/<family>.cc
KernelList ReferenceArgReduce();
KernelList ReferenceAttention();
KernelList ReferenceBatchNormalization();
KernelList ReferenceBinary();
KernelList ReferenceCast();
KernelList ReferenceClip();
KernelList ReferenceCompare();
KernelList ReferenceConcat();
KernelList ReferenceConv();
KernelList ReferenceCumulative();
KernelList ReferenceDepthToSpace();
KernelList ReferenceExpand();
KernelList ReferenceGather();
KernelList ReferenceIdentity();
KernelList ReferenceLrn();
KernelList ReferenceMatMul();
KernelList ReferenceMeanVarianceNormalization();
KernelList ReferenceNormalization();
KernelList ReferencePad();
KernelList ReferencePool();
KernelList ReferencePow();
KernelList ReferenceRecurrent();
KernelList ReferenceReduce();
KernelList ReferenceRotaryEmbedding();
KernelList ReferenceShapeOps();
KernelList ReferenceSlice();
KernelList ReferenceSoftmax();
KernelList ReferenceTranspose();
KernelList ReferenceTrilu();
KernelList ReferenceUnary();
KernelList ReferenceVariadic();
KernelList ReferenceWhere();

}  // namespace cpu
}  // namespace onward
