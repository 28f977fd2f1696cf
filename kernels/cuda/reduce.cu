// The reductions over axes.
#include <cmath>
#include <limits>

#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/reduce.cuh"

namespace onward::kernels::cuda {
namespace {

using namespace reductions;  // NOLINT: what the table names

struct L1 : Sum {
  template <typename A>
  __device__ static A Map(A x) {
    return x < 0 ? -x : x;
  }
};

struct SumSquare : Sum {
  template <typename A>
  __device__ static A Map(A x) {
    return x * x;
  }
};

struct L2 : SumSquare {
  template <typename A>
  __device__ static A Finish(A total, int64_t) {
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(std::sqrt(static_cast<double>(total)));
    return std::sqrt(total);
  }
};

struct LogSum : Sum {
  template <typename A>
  __device__ static A Finish(A total, int64_t) {
    return std::log(total);
  }
};

struct Prod : Sum {
  using Combine = functors::Mul;
  template <typename T>
  __device__ static Total<T> None() {
    return Total<T>(1);
  }
};

struct Minimum : Sum {
  using Combine = functors::Min;
  template <typename T>
  __device__ static Total<T> None() {
    using Limits = std::numeric_limits<ComputeType<T>>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
};

// Twice over each row: for its largest element, then for the sum of exponentials below it.
template <typename T, bool kWide>
__global__ void LogSumExpRows(const T* x, T* y, ReducePlan plan) {
  using A = Total<T>;
  using Threads = RowThreads<kWide>;
  for (int64_t row = Threads::first(); row < plan.kept_count; row += Threads::step()) {
    const T* from = x + OffsetOf(plan.kept_rank, plan.kept_dims, plan.kept_strides, row);
    const auto element = [&](int64_t i) {
      return Load(from[OffsetOf(plan.reduced_rank, plan.reduced_dims, plan.reduced_strides, i)]);
    };
    A top = Maximum::None<T>();
    for (int64_t i = Threads::index(); i < plan.reduced_count; i += Threads::count())
      top = functors::Max()(top, element(i));
    top = Threads::template Combine<functors::Max>(top);
    // Infinities stay what they are.
    const A shift = std::isfinite(top) ? top : A(0);
    A sum = 0;
    for (int64_t i = Threads::index(); i < plan.reduced_count; i += Threads::count())
      sum += std::exp(element(i) - shift);
    sum = Threads::template Combine<functors::Add>(sum);
    if (Threads::index() == 0) y[row] = Rounded<T>(std::log(sum) + shift);
  }
}

template <typename T>
absl::Status LaunchLogSumExp(const void* x, void* y, void*, const ReducePlan& plan,
                             cudaStream_t stream) {
  const bool wide = AreWide(plan.kept_count, plan.reduced_count);
  return Launch(wide ? LogSumExpRows<T, true> : LogSumExpRows<T, false>,
                RowBlocks(plan.kept_count, wide), kThreads, 0, stream, static_cast<const T*>(x),
                static_cast<T*>(y), plan);
}

class Reduce : public Kernel {
 public:
  Reduce(LaunchReducePlan launch, ReduceAttributes attributes, bool keeps_one)
      : launch_(launch), attributes_(attributes), keeps_one_(keeps_one) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindReduce(context, attributes_, keeps_one_));
    if (const auto* plan = static_cast<const ReducePlan*>(context.state()))
      context.SetScratch(ReduceScratch(*plan));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const ReducePlan plan = ReducePlanOf(context);
    if (plan.kept_count == 0) return absl::OkStatus();
    if (plan.keeps_elements) return CopyInput(context);
    return launch_(context.input(0).data, context.output(0).data, context.scratch<void>(), plan,
                   StreamOf(context));
  }
  uint64_t host_inputs() const override { return 2; }  // the axes

 private:
  LaunchReducePlan launch_;
  ReduceAttributes attributes_;
  bool keeps_one_;  // the reduction of one element is that element
};

template <typename R, bool kKeepsOne,
          typename Types = Concat<FloatTypes, TypeList<int32_t, int64_t>>>
absl::StatusOr<std::unique_ptr<Kernel>> MakeReduce(const NodeSpec& spec) {
  LaunchReducePlan launch = nullptr;
  DispatchDType(Types(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchReduce<R, typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Reduce>(launch, ReduceAttributes(spec), kKeepsOne);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLogSumExp(const NodeSpec& spec) {
  LaunchReducePlan launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchLogSumExp<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Reduce>(launch, ReduceAttributes(spec), /*keeps_one=*/false);
}

constexpr KernelEntry kKernels[] = {
    {"", "ReduceL1", "reduce_l1_cuda", MakeReduce<L1, false>},
    {"", "ReduceL2", "reduce_l2_cuda", MakeReduce<L2, false>},
    {"", "ReduceLogSum", "reduce_log_sum_cuda", MakeReduce<LogSum, false, FloatTypes>},
    {"", "ReduceLogSumExp", "reduce_log_sum_exp_cuda", MakeLogSumExp},
    {"", "ReduceMax", "reduce_max_cuda", MakeReduce<Maximum, true>},
    {"", "ReduceMean", "reduce_mean_cuda", MakeReduce<Mean, true>},
    {"", "ReduceMin", "reduce_min_cuda", MakeReduce<Minimum, true>},
    {"", "ReduceProd", "reduce_prod_cuda", MakeReduce<Prod, true>},
    {"", "ReduceSum", "reduce_sum_cuda", MakeReduce<Sum, true>},
    {"", "ReduceSumSquare", "reduce_sum_square_cuda", MakeReduce<SumSquare, false>},
};

}  // namespace

KernelList ReduceKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
