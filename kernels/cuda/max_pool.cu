// MaxPool with windows that cuDNN has no numbers for: padded unevenly, dilated, beyond the input's
// end, over one to three axes, of bytes, and with the places of what they found.
#include <limits>

#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/shapes/pool.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kAxes = 3;  // missing outer ones have one element

struct MaxPoolPlan {
  int64_t count;      // outputs
  bool column_major;  // places count the first axis fastest
  WindowAxis axes[kAxes];
};

// The place in a plane at row-major `place` under the plan's order; -1 stays.
__device__ inline int64_t Place(const MaxPoolPlan& plan, int64_t place) {
  if (!plan.column_major || place < 0) return place;
  const WindowAxis *d = &plan.axes[0], *h = &plan.axes[1], *w = &plan.axes[2];
  const int64_t line = place / w->input, plane = line / h->input;
  return (plane % d->input) + d->input * ((line % h->input) + h->input * (place % w->input));
}

// `places` may be null.
template <typename T>
__global__ void MaxPoolLoop(const T* x, T* y, int64_t* places, MaxPoolPlan plan) {
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
    const int64_t first = rest * d->input * h->input * w->input;
    const T* plane = x + first;
    C top = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    int64_t place = -1;
    for (int64_t kd = 0, at_d = begin[0]; kd < d->kernel; ++kd, at_d += d->dilation) {
      if (at_d < 0 || at_d >= d->input) continue;
      for (int64_t kh = 0, at_h = begin[1]; kh < h->kernel; ++kh, at_h += h->dilation) {
        if (at_h < 0 || at_h >= h->input) continue;
        const T* line = plane + (at_d * h->input + at_h) * w->input;
        for (int64_t kw = 0, at_w = begin[2]; kw < w->kernel; ++kw, at_w += w->dilation) {
          if (at_w < 0 || at_w >= w->input) continue;
          const C value = Load(line[at_w]);
          // The first NaN is above everything.
          if (place < 0 || value > top || (value != value && top == top)) {
            top = value;
            place = line + at_w - plane;
          }
        }
      }
    }
    y[i] = Rounded<T>(top);
    if (places != nullptr) places[i] = first + Place(plan, place);
  }
}

using LaunchPlan = absl::Status (*)(const RunContext& context);

template <typename T>
absl::Status LaunchMaxPool(const RunContext& context) {
  const auto& plan = context.state<MaxPoolPlan>();
  return Launch(MaxPoolLoop<T>, Blocks(plan.count), kThreads, 0, StreamOf(context),
                context.in<T>(0), context.out<T>(0),
                context.has_output(1) ? context.out<int64_t>(1) : nullptr, plan);
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
    plan->column_major = attributes_.column_major;
    for (WindowAxis& axis : plan->axes) axis = {1, 1, 1, 1, 1, 0, 0};
    std::copy(g.axes.begin(), g.axes.end(), plan->axes + (kAxes - g.axes.size()));
    for (int i = 0; i < context.num_outputs(); ++i) context.SetOutput(i, g.output);
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
