// CumSum and CumProd, in float for 16 bits: neighbouring lines side by side, a thread each, or a
// line whose elements are neighbours by a warp.
#include "kernels/bind/cumulative.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {
namespace {

struct Direction {
  bool exclusive, reverse;
};

// Where element i of a line that counts from its other end is.
__device__ inline int64_t PlaceOf(const CumulativePlan& plan, Direction d, int64_t i) {
  return (d.reverse ? plan.count - 1 - i : i) * plan.inner;
}

template <typename F, typename T>
__global__ void CumulateColumns(const T* x, T* y, CumulativePlan plan, Direction d,
                                ComputeType<T> none) {
  const int64_t lines = plan.outer * plan.inner;
  for (int64_t line = GlobalIndex(); line < lines; line += GlobalSize()) {
    const int64_t outer = Quotient(line, plan.inner);
    const int64_t first = outer * plan.count * plan.inner + line - outer * plan.inner;
    ComputeType<T> total = none;
    for (int64_t i = 0; i < plan.count; ++i) {
      const int64_t at = first + PlaceOf(plan, d, i);
      const ComputeType<T> next = F()(total, Load(x[at]));
      y[at] = Rounded<T>(d.exclusive ? total : next);
      total = next;
    }
  }
}

// A warp combines as many neighbours at a time as it has lanes.
template <typename F, typename T>
__global__ void CumulateRows(const T* x, T* y, CumulativePlan plan, Direction d,
                             ComputeType<T> none) {
  using C = ComputeType<T>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t row = GlobalIndex() / kWarp; row < plan.outer; row += GlobalSize() / kWarp) {
    const int64_t first = row * plan.count;
    C total = none;
    for (int64_t begin = 0; begin < plan.count; begin += kWarp) {
      const int64_t i = begin + lane, at = first + PlaceOf(plan, d, i);
      C sum = i < plan.count ? Load(x[at]) : none;
      for (int lanes = 1; lanes < kWarp; lanes *= 2) {
        const C before = __shfl_up_sync(~0u, sum, static_cast<unsigned>(lanes));
        if (lane >= lanes) sum = F()(before, sum);
      }
      sum = F()(total, sum);
      const C before = __shfl_up_sync(~0u, sum, 1u);
      if (i < plan.count) y[at] = Rounded<T>(!d.exclusive ? sum : lane == 0 ? total : before);
      total = __shfl_sync(~0u, sum, kWarp - 1);
    }
  }
}

using LaunchLines = absl::Status (*)(const RunContext& context, Direction d);

template <typename F, typename T>
absl::Status LaunchCumulative(const RunContext& context, Direction d) {
  const auto& plan = context.state<CumulativePlan>();
  const ComputeType<T> none = std::is_same_v<F, functors::Add> ? 0 : 1;
  const bool rows = plan.inner == 1;
  const int64_t threads = plan.outer * (rows ? kWarp : plan.inner);
  return Launch(rows ? CumulateRows<F, T> : CumulateColumns<F, T>, Blocks(threads), kThreads, 0,
                StreamOf(context), context.in<T>(0), context.out<T>(0), plan, d, none);
}

class Cumulative : public Kernel {
 public:
  Cumulative(LaunchLines launch, Direction direction) : launch_(launch), direction_(direction) {}
  absl::Status Bind(BindContext& context) const override { return BindCumulative(context); }
  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    return launch_(context, direction_);
  }
  uint64_t host_inputs() const override { return 2; }  // the axis

 private:
  LaunchLines launch_;
  Direction direction_;
};

template <typename F>
absl::StatusOr<std::unique_ptr<Kernel>> MakeCumulative(const NodeSpec& spec) {
  LaunchLines launch = nullptr;
  DispatchDType(Concat<FloatTypes, TypeList<int32_t, int64_t>>(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchCumulative<F, typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  const Attributes& attributes = spec.attributes();
  return std::make_unique<Cumulative>(
      launch, Direction{attributes.Int("exclusive", 0) != 0, attributes.Int("reverse", 0) != 0});
}

constexpr KernelEntry kKernels[] = {
    {"", "CumProd", "cum_prod_cuda", MakeCumulative<functors::Mul>},
    {"", "CumSum", "cum_sum_cuda", MakeCumulative<functors::Add>},
};

}  // namespace

KernelList CumulativeKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
