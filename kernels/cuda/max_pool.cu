// MaxPool with windows that cuDNN has no numbers for: padded unevenly, dilated, beyond the input's
// end, over one to three axes, of bytes, and with the places of what they found.
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/max_pool.cuh"

namespace onward::kernels::cuda {
namespace {

struct MaxPoolPlan {
  PoolWindows windows;
  bool column_major;  // places count the first axis fastest
};

// The place in a plane at row-major `place` under the plan's order; -1 stays.
__device__ inline int64_t Place(const MaxPoolPlan& plan, int64_t place) {
  if (!plan.column_major || place < 0) return place;
  const WindowAxis *axes = plan.windows.axes, *d = axes, *h = axes + 1, *w = axes + 2;
  const int64_t line = place / w->input, plane = line / h->input;
  return (plane % d->input) + d->input * ((line % h->input) + h->input * (place % w->input));
}

// `places` may be null.
template <typename T>
__global__ void MaxPoolLoop(const T* x, T* y, int64_t* places, MaxPoolPlan plan) {
  for (int64_t i = GlobalIndex(); i < plan.windows.count; i += GlobalSize()) {
    const Largest<ComputeType<T>> found = LargestOfWindow(x, plan.windows, i);
    y[i] = Rounded<T>(found.value);
    if (places != nullptr) places[i] = found.plane + Place(plan, found.place);
  }
}

using LaunchPlan = absl::Status (*)(const RunContext& context);

template <typename T>
absl::Status LaunchMaxPool(const RunContext& context) {
  const auto& plan = context.state<MaxPoolPlan>();
  return Launch(MaxPoolLoop<T>, Blocks(plan.windows.count), kThreads, 0, StreamOf(context),
                context.in<T>(0), context.out<T>(0),
                context.has_output(1) ? context.out<int64_t>(1) : nullptr, plan);
}

class MaxPool : public Kernel {
 public:
  MaxPool(LaunchPlan launch, PoolAttributes attributes)
      : launch_(launch), attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const PoolWindows windows, BindPool(context, attributes_));
    *context.NewState<MaxPoolPlan>() = {windows, attributes_.column_major};
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    return context.output(0).num_elements() == 0 ? absl::OkStatus() : launch_(context);
  }

 private:
  LaunchPlan launch_;
  PoolAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxPool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckPoolAxes(spec));
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  LaunchPlan launch = nullptr;
  DispatchDType(Concat<FloatTypes, TypeList<int8_t, uint8_t>>(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchMaxPool<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<MaxPool>(launch, std::move(attributes));
}

constexpr KernelEntry kKernels[] = {{"", "MaxPool", "max_pool_cuda", MakeMaxPool}};

}  // namespace

KernelList MaxPoolKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
