#include "kernels/cuda/kernels.h"

#include "absl/strings/str_cat.h"
#include "kernels/cuda/families.h"

namespace onward::kernels {
namespace {

using Family = cuda::KernelList (*)();

// A family stands before those that it is tried before.
constexpr Family kFamilies[] = {
    cuda::ActivationGradientKernels,
    cuda::ActivationKernels,
    cuda::AllReduceKernels,
    cuda::ArgReduceKernels,
    cuda::AttentionGradientKernels,
    cuda::AttentionKernels,
    cuda::TiledAttentionKernels,
    cuda::BatchNormalizationGradientKernels,
    cuda::BatchNormalizationKernels,
    cuda::ConstantOfShapeKernels,
    cuda::BinaryKernels,
    cuda::CastKernels,
    cuda::ClipKernels,
    cuda::Col2ImKernels,
    cuda::ConcatKernels,
    cuda::ControlFlowKernels,
    cuda::PointwiseConvKernels,
    cuda::DepthwiseConvKernels,
    cuda::ConvKernels,
    cuda::SideBySideConvTransposeKernels,
    cuda::ConvTransposeKernels,
    cuda::ConvWeightGradientKernels,
    cuda::CopyKernels,
    cuda::CumulativeKernels,
    cuda::DeformConvKernels,
    cuda::DetKernels,
    cuda::DropoutKernels,
    cuda::DynamicQuantizeKernels,
    cuda::ElementwiseKernels,
    cuda::EyeLikeKernels,
    cuda::GatherKernels,
    cuda::GridSampleKernels,
    cuda::GroupNormalizationKernels,
    cuda::IdentityKernels,
    cuda::LpPoolKernels,
    cuda::LayerNormalizationGradientKernels,
    cuda::LossGradientKernels,
    cuda::LossKernels,
    cuda::LrnKernels,
    cuda::MatMulKernels,
    cuda::MaxUnpoolKernels,
    cuda::NonZeroKernels,
    cuda::NormalizationKernels,
    cuda::OneHotKernels,
    cuda::OptimizerSteps,
    cuda::PadKernels,
    cuda::PoolGradientKernels,
    cuda::PoolKernels,
    cuda::AveragePoolKernels,
    cuda::GlobalPoolKernels,
    cuda::MaxPoolKernels,
    cuda::PowKernels,
    cuda::QuantizeKernels,
    cuda::QuantizedConvKernels,
    cuda::QuantizedMatMulKernels,
    cuda::RandomKernels,
    cuda::RangeKernels,
    cuda::RecurrentKernels,
    cuda::ReduceKernels,
    cuda::ResizeKernels,
    cuda::RotaryEmbeddingKernels,
    cuda::RoiAlignKernels,
    cuda::ScatterKernels,
    cuda::SoftmaxKernels,
    cuda::StridedCopyKernels,
    cuda::TensorScatterKernels,
    cuda::TopKKernels,
    cuda::TriluKernels,
    cuda::UnaryKernels,
    cuda::VariadicKernels,
    cuda::WhereKernels,
    cuda::WindowFunctions,
};

}  // namespace

const std::vector<KernelEntry>& CudaKernels() {
  static const std::vector<KernelEntry> kernels = [] {
    std::vector<KernelEntry> all;
    for (Family family : kFamilies) {
      const cuda::KernelList list = family();
      all.insert(all.end(), list.begin(), list.end());
    }
    return all;
  }();
  return kernels;
}

absl::Status cuda::NoLoopFor(DType dtype) {
  return absl::UnimplementedError(
      absl::StrCat("the device has no loop for dtype ", std::string(DTypeName(dtype))));
}

}  // namespace onward::kernels
