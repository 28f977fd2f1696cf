// The families of CPU kernels: one list each, fastest first within an op. Included by kernels.cc
// alone.
#pragma once

#include "kernels/cpu/kernel_list.h"

namespace onward::cpu {

// SIMD kernels: kernels/cpu/<family>.cc
KernelList ConvKernels();
KernelList DepthwiseConvKernels();
KernelList MatMulKernels();

// Reference kernels: kernels/cpu/reference/<family>.cc
KernelList ReferenceArgReduce();
KernelList ReferenceAttention();
KernelList ReferenceBatchNormalization();
KernelList ReferenceBinary();
KernelList ReferenceCast();
KernelList ReferenceClip();
KernelList ReferenceCol2Im();
KernelList ReferenceCompare();
KernelList ReferenceConcat();
KernelList ReferenceControlFlow();
KernelList ReferenceConv();
KernelList ReferenceCumulative();
KernelList ReferenceDepthToSpace();
KernelList ReferenceDet();
KernelList ReferenceDft();
KernelList ReferenceDropout();
KernelList ReferenceExpand();
KernelList ReferenceGather();
KernelList ReferenceGridSample();
KernelList ReferenceIdentity();
KernelList ReferenceLabelEncoder();
KernelList ReferenceLinearModel();
KernelList ReferenceLoss();
KernelList ReferenceLrn();
KernelList ReferenceMatMul();
KernelList ReferenceMeanVarianceNormalization();
KernelList ReferenceMlFeatures();
KernelList ReferenceNonMaxSuppression();
KernelList ReferenceNonZero();
KernelList ReferenceNormalization();
KernelList ReferenceOneHot();
KernelList ReferenceOptional();
KernelList ReferencePad();
KernelList ReferencePool();
KernelList ReferencePow();
KernelList ReferenceQuantize();
KernelList ReferenceQuantizedConv();
KernelList ReferenceQuantizedMatMul();
KernelList ReferenceRandom();
KernelList ReferenceRecurrent();
KernelList ReferenceReduce();
KernelList ReferenceResize();
KernelList ReferenceRoiAlign();
KernelList ReferenceRotaryEmbedding();
KernelList ReferenceScan();
KernelList ReferenceScatter();
KernelList ReferenceSequence();
KernelList ReferenceShapeOps();
KernelList ReferenceSlice();
KernelList ReferenceSoftmax();
KernelList ReferenceSplitSequence();
KernelList ReferenceString();
KernelList ReferenceTfidf();
KernelList ReferenceTopK();
KernelList ReferenceTranspose();
KernelList ReferenceTreeEnsemble();
KernelList ReferenceTrilu();
KernelList ReferenceUnary();
KernelList ReferenceUnique();
KernelList ReferenceVariadic();
KernelList ReferenceWhere();
KernelList ReferenceWindowFunctions();

}  // namespace onward::cpu
