// LpPool and GlobalLpPool, in float for 16 bits.
#include <utility>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/pool_windows.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/lp_norm.h"

namespace onward::kernels::cuda {
namespace {

template <typename T>
__global__ void LpPoolLoop(const T* x, T* y, PoolWindows windows, int64_t p) {
  for (int64_t i = GlobalIndex(); i < windows.count; i += GlobalSize()) {
    ComputeType<T> sum = 0;
    VisitWindow(windows, i, [&](int64_t at) { sum += PowerOf(Load(x[at]), p); });
    y[i] = Rounded<T>(RootOf(sum, p));
  }
}

template <typename T, bool kWide>
__global__ void NormsOfPlanes(const T* x, T* y, int64_t planes, int64_t size, int64_t p) {
  using Threads = RowThreads<kWide>;
  for (int64_t plane = Threads::first(); plane < planes; plane += Threads::step()) {
    ComputeType<T> sum = 0;
    for (int64_t i = Threads::index(); i < size; i += Threads::count())
      sum += PowerOf(Load(x[plane * size + i]), p);
    sum = Threads::template Combine<functors::Add>(sum);
    if (Threads::index() == 0) y[plane] = Rounded<T>(RootOf(sum, p));
  }
}

template <typename T>
absl::Status LaunchWindows(const RunContext& context, const PoolAttributes& attributes) {
  const auto& windows = context.state<PoolWindows>();
  return Launch(LpPoolLoop<T>, Blocks(windows.count), kThreads, 0, StreamOf(context),
                context.in<T>(0), context.out<T>(0), windows, attributes.p);
}

using LaunchNorms = absl::Status (*)(const RunContext& context, int64_t p);

template <typename T>
absl::Status LaunchPlanes(const RunContext& context, int64_t p) {
  const int64_t planes = context.output(0).num_elements();
  const int64_t size = context.input(0).num_elements() / planes;
  const bool wide = AreWide(planes, size);
  return Launch(wide ? NormsOfPlanes<T, true> : NormsOfPlanes<T, false>, RowBlocks(planes, wide),
                kThreads, 0, StreamOf(context), context.in<T>(0), context.out<T>(0), planes, size,
                p);
}

class GlobalLpPool : public Kernel {
 public:
  GlobalLpPool(LaunchNorms launch, int64_t p) : launch_(launch), p_(p) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const Dims output, GlobalPoolDims(context.input_dims(0)));
    context.SetOutput(0, output);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    return context.output(0).num_elements() == 0 ? absl::OkStatus() : launch_(context, p_);
  }

 private:
  LaunchNorms launch_;
  int64_t p_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeLpPool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckPoolAxes(spec));
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  LaunchWindowPool launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchWindows<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<WindowPool>(launch, std::move(attributes));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGlobalLpPool(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t p, LpPoolPower(spec));
  LaunchNorms launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchPlanes<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<GlobalLpPool>(launch, p);
}

constexpr KernelEntry kKernels[] = {
    {"", "GlobalLpPool", "global_lp_pool_cuda", MakeGlobalLpPool},
    {"", "LpPool", "lp_pool_cuda", MakeLpPool},
};

}  // namespace

KernelList LpPoolKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
