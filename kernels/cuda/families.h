// The families of CUDA kernels: one list each. Included by kernels.cc alone.
#pragma once

#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {

KernelList ActivationGradientKernels();
KernelList ActivationKernels();
KernelList AllReduceKernels();
KernelList ArgReduceKernels();
KernelList AttentionGradientKernels();
KernelList AttentionKernels();
KernelList TiledAttentionKernels();  // tried after AttentionKernels
KernelList AveragePoolKernels();     // tried after PoolKernels
KernelList BatchNormalizationGradientKernels();
KernelList BatchNormalizationKernels();
KernelList BinaryKernels();
KernelList CastKernels();
KernelList ClipKernels();
KernelList Col2ImKernels();
KernelList ConcatKernels();
KernelList ControlFlowKernels();
KernelList ConstantOfShapeKernels();
KernelList ConvKernels();
KernelList ConvTransposeKernels();
KernelList SideBySideConvTransposeKernels();
KernelList ConvWeightGradientKernels();
KernelList CopyKernels();
KernelList CumulativeKernels();
KernelList DeformConvKernels();
KernelList DepthwiseConvKernels();  // tried before ConvKernels
KernelList DetKernels();
KernelList DropoutKernels();
KernelList DynamicQuantizeKernels();
KernelList ElementwiseKernels();
KernelList EyeLikeKernels();
KernelList GatherKernels();
KernelList GlobalPoolKernels();  // tried after PoolKernels
KernelList GridSampleKernels();
KernelList GroupNormalizationKernels();
KernelList IdentityKernels();
KernelList LpPoolKernels();
KernelList LayerNormalizationGradientKernels();
KernelList LossGradientKernels();
KernelList LossKernels();
KernelList LrnKernels();
KernelList MatMulKernels();
KernelList MaxPoolKernels();  // tried after PoolKernels
KernelList MaxUnpoolKernels();
KernelList NonZeroKernels();
KernelList NormalizationKernels();
KernelList OneHotKernels();
KernelList OptimizerSteps();
KernelList PadKernels();
KernelList PointwiseConvKernels();  // tried before ConvKernels
KernelList PoolGradientKernels();
KernelList PoolKernels();
KernelList PowKernels();
KernelList QuantizeKernels();
KernelList QuantizedConvKernels();
KernelList QuantizedMatMulKernels();
KernelList RandomKernels();
KernelList RangeKernels();
KernelList RecurrentKernels();
KernelList ReduceKernels();
KernelList ResizeKernels();
KernelList RotaryEmbeddingKernels();
KernelList RoiAlignKernels();
KernelList ScatterKernels();
KernelList SoftmaxKernels();
KernelList StridedCopyKernels();
KernelList TensorScatterKernels();
KernelList TopKKernels();
KernelList TriluKernels();
KernelList UnaryKernels();
KernelList VariadicKernels();
KernelList WhereKernels();
KernelList WindowFunctions();

}  // namespace onward::kernels::cuda
