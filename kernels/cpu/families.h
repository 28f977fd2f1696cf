// The families of CPU kernels: one list each, fastest first within an op. Included by kernels.cc
// alone.
#pragma once

#include "kernels/cpu/kernel_list.h"

namespace onward::cpu {

// SIMD kernels: kernels/cpu/<family>.cc
KernelList MatMulKernels();

// Reference kernels: kernels/cpu/reference/<family>.cc
KernelList ReferenceAttention();
KernelList ReferenceBinary();
KernelList ReferenceClip();
KernelList ReferenceCompare();
KernelList ReferenceConcat();
KernelList ReferenceConv();
KernelList ReferenceDepthToSpace();
KernelList ReferenceExpand();
KernelList ReferenceGather();
KernelList ReferenceIdentity();
KernelList ReferenceMatMul();
KernelList ReferencePad();
KernelList ReferencePool();
KernelList ReferencePow();
KernelList ReferenceRecurrent();
KernelList ReferenceRotaryEmbedding();
KernelList ReferenceShapeOps();
KernelList ReferenceSlice();
KernelList ReferenceTranspose();
KernelList ReferenceTrilu();
KernelList ReferenceUnary();
KernelList ReferenceVariadic();
KernelList ReferenceWhere();

}  // namespace onward::cpu
