// Conv and onward.FusedConv in float32 of images whose sizes are not known when compiling: the way
// to compute them is chosen for each size that is bound, as it is for known ones.
#include <array>
#include <mutex>

#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/conv_filters.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/winograd_plan.h"

namespace onward::kernels::cpu {
namespace {

enum Way {
  kPixelLanes,
  kChannelLanes,
  kDirect,
  kDilated,
  kFewFilters,
  kWinograd2,
  kWinograd4,
  kNumWays
};

struct SizedState {
  const ConvAlgorithm* algorithm = nullptr;
  const void* state = nullptr;
};

class SizedConv : public Kernel {
 public:
  SizedConv(const GemmTileKernels& tiles, ConvAttributes attributes, ActivationSpec activation,
            bool is_strict, Tensor filters)
      : tiles_(tiles),
        attributes_(std::move(attributes)),
        activation_(activation),
        is_strict_(is_strict),
        filter_dims_(filters.dims().begin(), filters.dims().end()),
        filters_(std::move(filters)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, BindConv(attributes_, context));
    ONWARD_ASSIGN_OR_RETURN(const ConvAlgorithm* algorithm, AlgorithmOf(WayFor(g)));
    const void* state = algorithm->Bind(context, g);
    *context.NewState<SizedState>() = {algorithm, state};
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const SizedState& state = context.state<SizedState>();
    state.algorithm->Run(context, state.state);
    return absl::OkStatus();
  }

 private:
  Way WayFor(const ConvGeometry& g) const {
    if (const auto sizes = WinogradSizesOf(g); sizes && !is_strict_) {
      const int64_t m = ChooseWinograd(tiles_.tile_cols / 2, *sizes);
      if (m != 0) return m == 2 ? kWinograd2 : kWinograd4;
    }
    if (PrefersDilated(tiles_, g)) return kDilated;
    if (PrefersFewFilters(tiles_, g)) return kFewFilters;
    if (PrefersDirect(tiles_, g)) return kDirect;
    return ChooseConvForm(tiles_, g) == ConvForm::kChannelLanes ? kChannelLanes : kPixelLanes;
  }

  // Packs the filters for a way when a size first takes it.
  absl::StatusOr<const ConvAlgorithm*> AlgorithmOf(Way way) const {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<ConvAlgorithm>& algorithm = algorithms_[way];
    if (algorithm == nullptr) {
      ONWARD_ASSIGN_OR_RETURN(algorithm, MakeAlgorithm(way));
    }
    return algorithm.get();
  }

  ConvAlgorithmOr MakeAlgorithm(Way way) const {
    if (way == kDilated || way == kFewFilters || way == kWinograd2 || way == kWinograd4) {
      ONWARD_ASSIGN_OR_RETURN(const Tensor w, Filters());
      if (way == kDilated) return DilatedProducts(tiles_, activation_, w);
      if (way == kFewFilters) return FewFilterProducts(tiles_, activation_, w);
      return WinogradProducts(tiles_, activation_, way == kWinograd2 ? 2 : 4, w);
    }
    ONWARD_ASSIGN_OR_RETURN(Tensor packed, PackedFilters(FormOf(way)));
    if (way == kDirect) return DirectProducts(tiles_, activation_, std::move(packed));
    return ConvProducts(tiles_, activation_, FormOf(way), std::move(packed));
  }

  absl::StatusOr<Tensor> PackedFilters(ConvForm form) const {
    Tensor& packed = packed_[form == ConvForm::kPixelLanes ? kPixelLanes : kChannelLanes];
    if (!packed.empty()) return packed;
    ONWARD_ASSIGN_OR_RETURN(const Tensor w, Filters());
    ONWARD_ASSIGN_OR_RETURN(packed, PackFloatFilters(tiles_, form, w, attributes_.group));
    filters_ = Tensor();  // they are in `packed_`
    return packed;
  }

  static ConvForm FormOf(Way way) {
    return way == kPixelLanes ? ConvForm::kPixelLanes : ConvForm::kChannelLanes;
  }

  absl::StatusOr<Tensor> Filters() const {
    if (!filters_.empty()) return filters_;
    const Way way = packed_[kPixelLanes].empty() ? kChannelLanes : kPixelLanes;
    return UnpackFloatFilters(tiles_, FormOf(way), packed_[way], filter_dims_, attributes_.group);
  }

  const GemmTileKernels& tiles_;
  ConvAttributes attributes_;
  ActivationSpec activation_;
  bool is_strict_;
  Dims filter_dims_;
  mutable std::mutex mutex_;  // of what follows
  mutable Tensor filters_;    // as they are; empty where they are packed for products
  mutable std::array<Tensor, 2> packed_;
  mutable std::array<std::unique_ptr<ConvAlgorithm>, kNumWays> algorithms_;  // made once each
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeSizedConv(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  const Tensor* w = spec.constant(1);
  if (w == nullptr || w->rank() < 3 || w->rank() > 4 || w->num_elements() == 0)
    return absl::UnimplementedError("constant filters of one or two spatial axes only");
  ONWARD_ASSIGN_OR_RETURN(const ConvAttributes attributes, ConvAttributes::Parse(spec));
  if (KnownGeometry(spec, attributes) || w->dims()[0] % attributes.group != 0)
    return absl::UnimplementedError("images of sizes that are not known when compiling only");
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  const GemmTileKernels& tiles = kGemmTilesPerTarget.For(TargetOf(spec))();
  const bool is_strict = spec.options().precision == Precision::kStrict;
  Tensor filters = *w;
  spec.ReleaseConstant(1);
  return std::make_unique<SizedConv>(tiles, attributes, activation, is_strict, std::move(filters));
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "sized_conv", MakeSizedConv, kVectorTargets},
    {"onward", "FusedConv", "fused_sized_conv", MakeSizedConv, kVectorTargets},
};

}  // namespace

KernelList SizedConvKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
