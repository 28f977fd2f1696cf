// ArgMax and ArgMin: a warp for each line of the axis. The first NaN wins over every number.
#include <algorithm>

#include "kernels/bind/arg_reduce.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

constexpr unsigned kAllLanes = ~0u;

// A value and where it is; -1: none yet.
template <typename C>
struct Found {
  C value = C();
  int64_t at = -1;
};

template <bool kMax, bool kLast, typename C>
__device__ Found<C> Better(const Found<C>& a, const Found<C>& b) {
  if (a.at < 0) return b;
  if (b.at < 0) return a;
  const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
  const bool wins = kMax ? b.value > a.value : b.value < a.value;
  const bool loses = kMax ? a.value > b.value : a.value < b.value;
  if (nan_a != nan_b) return nan_b ? b : a;
  if (!nan_a && wins != loses) return wins ? b : a;
  return (kLast ? b.at > a.at : b.at < a.at) ? b : a;
}

template <typename T, bool kMax, bool kLast>
__global__ void FindPlaces(const T* data, int64_t* out, ArgPlan plan) {
  using C = ComputeType<T>;
  const int64_t lines = plan.outer * plan.inner, warps = GlobalSize() / warpSize;
  const int lane = static_cast<int>(threadIdx.x) % warpSize;
  for (int64_t line = GlobalIndex() / warpSize; line < lines; line += warps) {
    const int64_t outer = line / plan.inner;
    const T* x = data + outer * plan.count * plan.inner + (line - outer * plan.inner);
    Found<C> best;
    for (int64_t i = lane; i < plan.count; i += warpSize)
      best = Better<kMax, kLast>(best, Found<C>{Load(x[i * plan.inner]), i});
    for (int lanes = warpSize / 2; lanes > 0; lanes /= 2) {
      const Found<C> other = {static_cast<C>(__shfl_xor_sync(kAllLanes, best.value, lanes)),
                              __shfl_xor_sync(kAllLanes, best.at, lanes)};
      best = Better<kMax, kLast>(best, other);
    }
    if (lane == 0) out[line] = best.at;
  }
}

using LaunchPlaces = absl::Status (*)(const RunContext& context, const ArgPlan& plan);

template <typename T, bool kMax, bool kLast>
absl::Status LaunchFind(const RunContext& context, const ArgPlan& plan) {
  const int64_t threads = plan.outer * plan.inner * 32;
  return Launch(FindPlaces<T, kMax, kLast>, Blocks(threads), kThreads, 0, StreamOf(context),
                context.in<T>(0), context.out<int64_t>(0), plan);
}

class ArgReduce : public Kernel {
 public:
  ArgReduce(LaunchPlaces launch, int64_t axis, bool keep_dims)
      : launch_(launch), axis_(axis), keep_dims_(keep_dims) {}
  absl::Status Bind(BindContext& context) const override {
    return BindArgReduce(context, axis_, keep_dims_);
  }
  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    return launch_(context, context.state<ArgPlan>());
  }

 private:
  LaunchPlaces launch_;
  int64_t axis_;
  bool keep_dims_;
};

template <bool kMax>
absl::StatusOr<std::unique_ptr<Kernel>> MakeArgReduce(const NodeSpec& spec) {
  const bool last = spec.attributes().Int("select_last_index", 0) != 0;
  LaunchPlaces launch = nullptr;
  using Types = TypeList<float, double, Float16, BFloat16, int32_t, int64_t, int8_t, uint8_t>;
  DispatchDType(Types(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch = last ? LaunchFind<T, kMax, true> : LaunchFind<T, kMax, false>;
  });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<ArgReduce>(launch, spec.attributes().Int("axis", 0),
                                     spec.attributes().Int("keepdims", 1) != 0);
}

constexpr KernelEntry kKernels[] = {
    {"", "ArgMax", "arg_max_cuda", MakeArgReduce<true>},
    {"", "ArgMin", "arg_min_cuda", MakeArgReduce<false>},
};

}  // namespace

KernelList ArgReduceKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
