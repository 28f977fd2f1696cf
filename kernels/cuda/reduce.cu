// The reductions over axes: in float (double for doubles, 64 bits for integers), as a tree that the
// shape alone decides.
#include <cmath>
#include <limits>

#include "kernels/bind/reduce.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {
namespace {

template <typename T>
using Total = std::conditional_t<std::is_integral_v<T>, int64_t, ComputeType<T>>;

// A reduction: what becomes of an element, how two are combined, what none gives, and what the
// total of `count` elements becomes.
struct Sum {
  using Combine = functors::Add;
  template <typename T>
  __device__ static Total<T> None() {
    return Total<T>(0);
  }
  template <typename A>
  __device__ static A Map(A x) {
    return x;
  }
  template <typename A>
  __device__ static A Finish(A total, int64_t) {
    return total;
  }
};

struct Mean : Sum {
  template <typename A>
  __device__ static A Finish(A total, int64_t count) {
    if constexpr (std::is_integral_v<A>) return count == 0 ? A(0) : total / count;
    return total / static_cast<A>(count);
  }
};

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

struct Maximum : Sum {
  using Combine = functors::Max;
  // The limit is that of the elements' type: totals of 32 bits are kept in 64.
  template <typename T>
  __device__ static Total<T> None() {
    using Limits = std::numeric_limits<ComputeType<T>>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
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

// Where in a loop nest's memory iteration `index` is.
__device__ int64_t OffsetOf(int rank, const int64_t* dims, const int64_t* strides, int64_t index) {
  int64_t offset = 0;
  for (int d = 0; d < rank; ++d) {
    const int64_t rest = d + 1 < rank ? Quotient(index, dims[d]) : 0;
    offset += (index - rest * dims[d]) * strides[d];
    index = rest;
  }
  return offset;
}

template <typename R, typename T>
__device__ Total<T> Mapped(T element) {
  return R::Map(static_cast<Total<T>>(Load(element)));
}

// An output is the work of a warp or a block, whose threads read neighbours.
template <typename R, typename T, bool kWide>
__global__ void ReduceRows(const T* x, T* y, ReducePlan plan) {
  using A = Total<T>;
  using Threads = RowThreads<kWide>;
  for (int64_t row = Threads::first(); row < plan.kept_count; row += Threads::step()) {
    const T* from = x + OffsetOf(plan.kept_rank, plan.kept_dims, plan.kept_strides, row);
    A total = R::template None<T>();
    for (int64_t i = Threads::index(); i < plan.reduced_count; i += Threads::count()) {
      const int64_t at = OffsetOf(plan.reduced_rank, plan.reduced_dims, plan.reduced_strides, i);
      total = typename R::Combine()(total, Mapped<R>(from[at]));
    }
    total = Threads::template Combine<typename R::Combine>(total);
    if (Threads::index() == 0) y[row] = Rounded<T>(R::Finish(total, plan.reduced_count));
  }
}

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

// A block takes neighbouring outputs, whose elements are neighbours.
template <typename R, typename T>
__global__ void ReduceColumns(const T* x, T* y, ReducePlan plan) {
  using A = Total<T>;
  const int64_t tiles = (plan.kept_count + kColumns - 1) / kColumns;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t column = tile * kColumns + threadIdx.x;
    const int64_t count = column < plan.kept_count ? plan.reduced_count : 0;
    const T* from = x + OffsetOf(plan.kept_rank, plan.kept_dims, plan.kept_strides, column);
    A total = R::template None<T>();
    for (int64_t i = threadIdx.y; i < count; i += kStripes) {
      const int64_t at = OffsetOf(plan.reduced_rank, plan.reduced_dims, plan.reduced_strides, i);
      total = typename R::Combine()(total, Mapped<R>(from[at]));
    }
    total = CombineColumn<typename R::Combine>(total);
    if (threadIdx.y == 0 && column < plan.kept_count)
      y[column] = Rounded<T>(R::Finish(total, plan.reduced_count));
  }
}

using LaunchPlan = absl::Status (*)(const void* x, void* y, const ReducePlan& plan,
                                    cudaStream_t stream);

template <typename R, typename T>
absl::Status LaunchReduce(const void* x_data, void* y_data, const ReducePlan& plan,
                          cudaStream_t stream) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  const bool columns = plan.kept_rank > 0 && plan.kept_strides[0] == 1 && plan.reduced_count > 0;
  if (columns) {
    const int64_t tiles = (plan.kept_count + kColumns - 1) / kColumns;
    return Launch(ReduceColumns<R, T>, Blocks(tiles * kThreads), dim3(kColumns, kStripes), 0,
                  stream, x, y, plan);
  }
  const bool wide = AreWide(plan.kept_count, plan.reduced_count);
  return Launch(wide ? ReduceRows<R, T, true> : ReduceRows<R, T, false>,
                RowBlocks(plan.kept_count, wide), kThreads, 0, stream, x, y, plan);
}

template <typename T>
absl::Status LaunchLogSumExp(const void* x, void* y, const ReducePlan& plan, cudaStream_t stream) {
  const bool wide = AreWide(plan.kept_count, plan.reduced_count);
  return Launch(wide ? LogSumExpRows<T, true> : LogSumExpRows<T, false>,
                RowBlocks(plan.kept_count, wide), kThreads, 0, stream, static_cast<const T*>(x),
                static_cast<T*>(y), plan);
}

class Reduce : public Kernel {
 public:
  Reduce(LaunchPlan launch, ReduceAttributes attributes, bool keeps_one)
      : launch_(launch), attributes_(attributes), keeps_one_(keeps_one) {}
  absl::Status Bind(BindContext& context) const override {
    return BindReduce(context, attributes_, keeps_one_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<ReducePlan>();
    if (plan.kept_count == 0) return absl::OkStatus();
    if (plan.keeps_elements) return CopyInput(context);
    return launch_(context.input(0).data, context.output(0).data, plan, StreamOf(context));
  }
  uint64_t host_inputs() const override { return 2; }  // the axes

 private:
  LaunchPlan launch_;
  ReduceAttributes attributes_;
  bool keeps_one_;  // the reduction of one element is that element
};

template <typename R, bool kKeepsOne,
          typename Types = Concat<FloatTypes, TypeList<int32_t, int64_t>>>
absl::StatusOr<std::unique_ptr<Kernel>> MakeReduce(const NodeSpec& spec) {
  LaunchPlan launch = nullptr;
  DispatchDType(Types(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchReduce<R, typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Reduce>(launch, ReduceAttributes(spec), kKeepsOne);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLogSumExp(const NodeSpec& spec) {
  LaunchPlan launch = nullptr;
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
