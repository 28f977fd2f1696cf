#include "kernels/cpu/kernels.h"

#include "kernels/cpu/families.h"

namespace onward {

const std::vector<KernelEntry>& CpuKernels() {
  static const std::vector<KernelEntry> kernels = [] {
    using Family = cpu::KernelList (*)();
    // Fast kernels stand before reference ones.
    constexpr Family kFamilies[] = {
        // clang-format off
        cpu::DepthwiseConvKernels,
        cpu::PairsConvKernels,
        cpu::ConvKernels,
        cpu::ConvVolumeKernels,
        cpu::BatchNormalizationKernels,
        cpu::BinaryKernels,
        cpu::DepthwiseGradientKernels,
        cpu::ConvGradientPairsKernels,
        cpu::ConvGradientKernels,
        cpu::CastKernels,
        cpu::EinsumKernels,
        cpu::LossKernels,
        cpu::MatMulKernels,
        cpu::MatMulNBitsKernels,
        cpu::AttentionKernels,
        cpu::ConvTransposeKernels,
        cpu::PoolGradientKernels,
        cpu::PoolKernels,
        cpu::RecurrentKernels,
        cpu::RecurrentGradientKernels,
        cpu::NormalizationKernels,
        cpu::QuantizeKernels,
        cpu::QuantizedConvKernels,
        cpu::QuantizedMatMulKernels,
        cpu::ReduceKernels,
        cpu::SoftmaxKernels,
        cpu::UnaryKernels,
        cpu::ActivationGradients,
        cpu::ReferenceArgReduce,
        cpu::ReferenceAttention,
        cpu::ReferenceBatchNormalization,
        cpu::ReferenceBinary,
        cpu::ReferenceCast,
        cpu::ReferenceCausalConv,
        cpu::ReferenceClip,
        cpu::ReferenceCol2Im,
        cpu::ReferenceCompare,
        cpu::ReferenceConcat,
        cpu::ReferenceControlFlow,
        cpu::ReferenceConv,
        cpu::ReferenceCumulative,
        cpu::ReferenceDeformConv,
        cpu::ReferenceDepthToSpace,
        cpu::ReferenceDet,
        cpu::ReferenceInverse,
        cpu::ReferenceMurmurHash,
        cpu::ReferenceDft,
        cpu::ReferenceDropout,
        cpu::ReferenceEinsum,
        cpu::ReferenceExpand,
        cpu::ReferenceFlexAttention,
        cpu::ReferenceGather,
        cpu::ReferenceGridSample,
        cpu::ReferenceIdentity,
        cpu::ReferenceImageDecoder,
        cpu::ReferenceLabelEncoder,
        cpu::ReferenceLinearAttention,
        cpu::ReferenceLinearModel,
        cpu::ReferenceLoss,
        cpu::ReferenceLrn,
        cpu::ReferenceMap,
        cpu::ReferenceMatMul,
        cpu::ReferenceMaxUnpool,
        cpu::ReferenceMeanVarianceNormalization,
        cpu::ReferenceMlFeatures,
        cpu::ReferenceNonMaxSuppression,
        cpu::ReferenceNonZero,
        cpu::ReferenceNormalization,
        cpu::ReferenceOneHot,
        cpu::OptimizerSteps,
        cpu::ReferenceOptimizers,
        cpu::ReferenceOptional,
        cpu::ReferencePad,
        cpu::ReferencePool,
        cpu::ReferencePow,
        cpu::ReferenceQuantize,
        cpu::ReferenceQuantizedConv,
        cpu::ReferenceQuantizedMatMul,
        cpu::ReferenceRandom,
        cpu::ReferenceRecurrent,
        cpu::ReferenceReduce,
        cpu::ReferenceResize,
        cpu::ReferenceRoiAlign,
        cpu::ReferenceRotaryEmbedding,
        cpu::ReferenceScan,
        cpu::ReferenceScatter,
        cpu::ReferenceSequence,
        cpu::ReferenceShapeOps,
        cpu::ReferenceSlice,
        cpu::ReferenceSoftmax,
        cpu::ReferenceSplitSequence,
        cpu::ReferenceString,
        cpu::ReferenceSvm,
        cpu::ReferenceTfidf,
        cpu::ReferenceTokenizer,
        cpu::ReferenceTopK,
        cpu::ReferenceTranspose,
        cpu::ReferenceTreeEnsemble,
        cpu::ReferenceTrilu,
        cpu::ReferenceUnary,
        cpu::ReferenceUnique,
        cpu::ReferenceVariadic,
        cpu::ReferenceWhere,
        cpu::ReferenceWindowFunctions,
        // clang-format on
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
