// MaxPool with windows that cuDNN has no numbers for: padded unevenly, dilated, beyond the input's
// end, over one to three axes, and of bytes.
#include <limits>

#include "kernels/binary_functors.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/shapes/pool.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kAxes = 3;  // missing outer ones have one element

struct MaxPoolPlan {
  int64_t count;  // outputs
  WindowAxis axes[kAxes];
};

template <typename T>
__global__ void MaxPoolLoop(const T* x, T* y, MaxPoolPlan plan) {
  using C = ComputeType<T>;
  using Limits = std::numeric_limits<C>;
  const WindowAxis *d = &plan.axes[0], *h = &plan.axes[1], *w = &plan.axes[2];
  for (int64_t i = GlobalIndex(); i < plan.count; i += GlobalSize()) {
    int64_t rest = i, begin[kAxes];
    for (int a = kAxes - 1; a >= 0; --a) {
      const int64_t above = Quotient(rest, plan.axes[a].output);
      begin[a] =
          (rest - above * plan.axes[a].output) * plan.axes[a].stride - plan.axes[a].pad_begin;
      rest = above;
    }
    const T* plane = x + rest * d->input * h->input * w->input;
    C top = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    for (int64_t kd = 0, at_d = begin[0]; kd < d->kernel; ++kd, at_d += d->dilation) {
      if (at_d < 0 || at_d >= d->input) continue;
      for (int64_t kh = 0, at_h = begin[1]; kh < h->kernel; ++kh, at_h += h->dilation) {
        if (at_h < 0 || at_h >= h->input) continue;
        const T* line = plane + (at_d * h->input + at_h) * w->input;
        for (int64_t kw = 0, at_w = begin[2]; kw < w->kernel; ++kw, at_w += w->dilation) {
          if (at_w >= 0 && at_w < w->input) top = functors::Max()(top, Load(line[at_w]));
        }
      }
    }
    y[i] = Rounded<T>(top);
  }
}

using LaunchPlan = absl::Status (*)(const RunContext& context);

template <typename T>
absl::Status LaunchMaxPool(const RunContext& context) {
  const auto& plan = context.state<MaxPoolPlan>();
  return Launch(MaxPoolLoop<T>, Blocks(plan.count), kThreads, 0,
                static_cast<cudaStream_t>(context.services()->stream()), context.in<T>(0),
                context.out<T>(0), plan);
}

class MaxPool : public Kernel {
 public:
  MaxPool(LaunchPlan launch, PoolAttributes attributes)
      : launch_(launch), attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g, PoolDims(attributes_, context.input_dims(0)));
    if (g.axes.size() > kAxes) return absl::UnimplementedError("the device pools up to 3 axes");
    auto* plan = context.NewState<MaxPoolPlan>();
    plan->count = NumElements(g.output);
    for (WindowAxis& axis : plan->axes) axis = {1, 1, 1, 1, 1, 0, 0};
    std::copy(g.axes.begin(), g.axes.end(), plan->axes + (kAxes - g.axes.size()));
    context.SetOutput(0, g.output);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    return context.state<MaxPoolPlan>().count == 0 ? absl::OkStatus() : launch_(context);
  }

 private:
  LaunchPlan launch_;
  PoolAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxPool(const NodeSpec& spec) {
  if (spec.has_output(1)) return absl::UnimplementedError("no indices");
  const auto& shape = spec.input_type(0).shape;
  if (!shape || shape->size() < 3 || shape->size() > 2 + kAxes)
    return absl::UnimplementedError("only one to three spatial axes");
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
