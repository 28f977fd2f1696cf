// The families of CPU kernels: one list each, fastest first within an op. Included by kernels.cc
// alone.
#pragma once

#include "kernels/cpu/kernel_list.h"

namespace onward::cpu {

// SIMD kernels: kernels/cpu/<family>.cc
KernelList BinaryKernels();
KernelList CastKernels();
KernelList ConvKernels();
KernelList ConvVolumeKernels();
KernelList DepthwiseConvKernels();
KernelList EinsumKernels();
KernelList MatMulKernels();
KernelList MatMulNBitsKernels();
KernelList RecurrentKernels();
KernelList PoolKernels();
KernelList ConvTransposeKernels();
KernelList AttentionKernels();
KernelList NormalizationKernels();
KernelList QuantizeKernels();
KernelList QuantizedConvKernels();
KernelList QuantizedMatMulKernels();
KernelList ReduceKernels();
KernelList SoftmaxKernels();
KernelList UnaryKernels();

// Reference kernels: kernels/cpu/reference/<family>.cc
KernelList ReferenceArgReduce();
KernelList ReferenceAttention();
KernelList ReferenceBatchNormalization();
KernelList ReferenceBinary();
KernelList ReferenceCast();
KernelList ReferenceCausalConv();
KernelList ReferenceClip();
KernelList ReferenceCol2Im();
KernelList ReferenceCompare();
KernelList ReferenceConcat();
KernelList ReferenceControlFlow();
KernelList ReferenceConv();
KernelList ReferenceCumulative();
KernelList ReferenceDeformConv();
KernelList ReferenceDepthToSpace();
KernelList ReferenceDet();
KernelList ReferenceInverse();
KernelList ReferenceMurmurHash();
KernelList ReferenceDft();
KernelList ReferenceDropout();
KernelList ReferenceEinsum();
KernelList ReferenceExpand();
KernelList ReferenceFlexAttention();
KernelList ReferenceGather();
KernelList ReferenceGridSample();
KernelList ReferenceIdentity();
KernelList ReferenceImageDecoder();
KernelList ReferenceLabelEncoder();
KernelList ReferenceLinearAttention();
KernelList ReferenceLinearModel();
KernelList ReferenceLoss();
KernelList ReferenceLrn();
KernelList ReferenceMap();
KernelList ReferenceMatMul();
KernelList ReferenceMaxUnpool();
KernelList ReferenceMeanVarianceNormalization();
KernelList ReferenceMlFeatures();
KernelList ReferenceNonMaxSuppression();
KernelList ReferenceNonZero();
KernelList ReferenceNormalization();
KernelList ReferenceOneHot();
KernelList ReferenceOptimizers();
KernelList OptimizerSteps();
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
KernelList ReferenceSvm();
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
