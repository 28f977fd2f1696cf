// The CUDA provider's kernels: one list per family.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "onward/kernel.h"

namespace onward::kernels {

const std::vector<KernelEntry>& CudaKernels();

namespace cuda {

using KernelList = absl::Span<const KernelEntry>;

// Unimplemented: "the device has no loop for dtype string".
absl::Status NoLoopFor(DType dtype);

KernelList ActivationKernels();
KernelList ArgReduceKernels();
KernelList BatchNormalizationGradientKernels();
KernelList BatchNormalizationKernels();
KernelList BinaryKernels();
KernelList CastKernels();
KernelList ClipKernels();
KernelList ConcatKernels();
KernelList ConstantOfShapeKernels();
KernelList ConvKernels();
KernelList ConvTransposeKernels();
KernelList CopyKernels();
KernelList CumulativeKernels();
KernelList DepthwiseConvKernels();  // tried before ConvKernels
KernelList DropoutKernels();
KernelList GatherKernels();
KernelList GroupNormalizationKernels();
KernelList IdentityKernels();
KernelList MatMulKernels();
KernelList MaxPoolKernels();  // tried after PoolKernels
KernelList NormalizationKernels();
KernelList OneHotKernels();
KernelList PadKernels();
KernelList PointwiseConvKernels();  // tried before ConvKernels
KernelList PoolKernels();
KernelList PowKernels();
KernelList QuantizeKernels();
KernelList QuantizedMatMulKernels();
KernelList RandomKernels();
KernelList RecurrentKernels();
KernelList ReduceKernels();
KernelList ResizeKernels();
KernelList ScatterKernels();
KernelList SoftmaxKernels();
KernelList StridedCopyKernels();
KernelList TensorScatterKernels();
KernelList TopKKernels();
KernelList TriluKernels();
KernelList UnaryKernels();
KernelList VariadicKernels();
KernelList WhereKernels();

}  // namespace cuda
}  // namespace onward::kernels
