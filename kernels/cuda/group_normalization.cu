// GroupNormalization and InstanceNormalization: statistics of runs, in float (double for doubles).
#include <cmath>

#include "kernels/bind/group_normalization.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/row_moments.cuh"

namespace onward::kernels::cuda {
namespace {

// A thread reads only what it writes of X, so that y may be x.
template <typename T, bool kWide>
__global__ void NormalizeRuns(const T* x_data, const T* scale, const T* bias, T* y_data,
                              GroupSizes sizes, int64_t n, float epsilon) {
  using C = ComputeType<T>;
  using Threads = RowThreads<kWide>;
  for (int64_t run = Threads::first(); run < sizes.runs; run += Threads::step()) {
    const T* x = x_data + run * n;
    T* y = y_data + run * n;
    const auto [mean, variance] = MomentsOfRow<Threads, true, 1>(x, n);
    const C inverse = C(1) / std::sqrt(variance + static_cast<C>(epsilon));
    const int64_t first = run % sizes.groups * sizes.channels_per_group;
    for (int64_t i = Threads::index(); i < n; i += Threads::count()) {
      const int64_t channel = first + Quotient(i, sizes.spatial);
      y[i] = Rounded<T>((Load(x[i]) - mean) * inverse * Load(scale[channel]) + Load(bias[channel]));
    }
  }
}

using LaunchRuns = absl::Status (*)(const RunContext& context, float epsilon);

template <typename T>
absl::Status LaunchGroups(const RunContext& context, float epsilon) {
  const auto& sizes = context.state<GroupSizes>();
  const bool wide = AreWide(sizes.runs, sizes.run());
  return Launch(wide ? NormalizeRuns<T, true> : NormalizeRuns<T, false>,
                RowBlocks(sizes.runs, wide), kThreads, 0, StreamOf(context), context.in<T>(0),
                context.in<T>(1), context.in<T>(2), context.out<T>(0), sizes, sizes.run(), epsilon);
}

class GroupNormalization : public Kernel {
 public:
  GroupNormalization(LaunchRuns launch, GroupAttributes attributes, SeveralValues several)
      : launch_(launch), attributes_(attributes), several_(several) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const GroupSizes sizes,
                            BindGroupNormalization(context, attributes_, several_));
    *context.NewState<GroupSizes>() = sizes;
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& sizes = context.state<GroupSizes>();
    if (sizes.runs * sizes.run() == 0) return absl::OkStatus();
    return launch_(context, attributes_.epsilon);
  }

 private:
  LaunchRuns launch_;
  GroupAttributes attributes_;
  SeveralValues several_;
};

template <bool kPerChannel>
absl::StatusOr<std::unique_ptr<Kernel>> MakeGroup(const NodeSpec& spec) {
  LaunchRuns launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchGroups<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  ONWARD_ASSIGN_OR_RETURN(const GroupAttributes attributes, ParseGroups(spec, kPerChannel));
  return std::make_unique<GroupNormalization>(launch, attributes, SeveralValues(spec));
}

constexpr KernelEntry kKernels[] = {
    {"", "GroupNormalization", "group_normalization_cuda", MakeGroup<false>},
    {"", "InstanceNormalization", "instance_normalization_cuda", MakeGroup<true>},
};

}  // namespace

KernelList GroupNormalizationKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
