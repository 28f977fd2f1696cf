// ConvTranspose of 3x3 taps and strides of 1 in float32, as the gradient of a convolution by its
// images is: Winograd's convolution (winograd_conv.cc) with the filters reversed.
#include <utility>

#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/winograd_plan.h"

namespace onward::kernels::cpu {
namespace {

class WinogradConvTranspose : public Kernel {
 public:
  WinogradConvTranspose(ConvTransposeAttributes attributes,
                        std::unique_ptr<ConvAlgorithm> algorithm)
      : attributes_(std::move(attributes)), algorithm_(std::move(algorithm)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(ConvGeometry g, ConvTransposeDims(attributes_, context));
    context.SetOutput(0, g.output);
    for (WindowAxis& axis : g.axes) {
      std::swap(axis.input, axis.output);
      axis.pad_begin = axis.kernel - 1 - axis.pad_begin;
    }
    const void* state = algorithm_->Bind(context, g);
    *context.NewState<const void*>() = state;
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    algorithm_->Run(context, context.state<const void*>());
    return absl::OkStatus();
  }

 private:
  ConvTransposeAttributes attributes_;
  std::unique_ptr<ConvAlgorithm> algorithm_;
};

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
  return std::make_unique<WinogradConvTranspose>(
      std::move(attributes), WinogradProducts(tiles, {}, m, FilterOrder::kConvTranspose));
}

constexpr KernelEntry kKernels[] = {
    {"", "ConvTranspose", "winograd_conv_transpose", Make, kVectorTargets},
};

}  // namespace

KernelList WinogradConvTransposeKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
