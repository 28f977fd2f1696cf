// ConvTranspose of 3x3 taps and strides of 1 in float32, as the gradient of a convolution by its
// images is: Winograd's convolution (winograd_conv.cc) with the filters reversed.
#include <utility>

#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/winograd_plan.h"

namespace onward::kernels::cpu {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  if (spec.options().precision == Precision::kStrict)
    return absl::UnimplementedError("not in strict arithmetic");
  const std::optional<Dims> filters = spec.input_type(1).static_dims();
  ONWARD_ASSIGN_OR_RETURN(ConvTransposeAttributes attributes, ConvTransposeAttributes::Parse(spec));
  if (!filters || !FitsWinograd(attributes.conv, *filters))
    return absl::UnimplementedError("3x3 taps, one group, strides and dilations of 1 only");
  const GemmTileKernels& tiles = kGemmTilesPerTarget.For(TargetOf(spec))();
  const int64_t m =
      ChooseWinograd(tiles.tile_cols / 2, KnownSizes(spec, (*filters)[0], (*filters)[1],
                                                     /*constant_filters=*/false));
  if (m == 0) return absl::UnimplementedError("sums of products take less time for these sizes");
  return ConvKernel(std::move(attributes),
                    WinogradProducts(tiles, {}, m, FilterOrder::kConvTranspose));
}

constexpr KernelEntry kKernels[] = {
    {"", "ConvTranspose", "winograd_conv_transpose", Make, kVectorTargets},
};

}  // namespace

KernelList WinogradConvTransposeKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
