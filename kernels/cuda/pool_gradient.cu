// The gradient of MaxPool: each window's place first, then the sum of the windows that an input
// was chosen by, in their order. X may be kept in 16 bits.
#include "kernels/bind/pool_gradient.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/max_pool.cuh"

namespace onward::kernels::cuda {
namespace {

struct PoolGradientPlan {
  int64_t inputs;  // of all planes
  PoolWindows windows;
};

template <typename S>
__global__ void FindLargest(const S* x, int32_t* places, PoolGradientPlan plan) {
  for (int64_t i = GlobalIndex(); i < plan.windows.count; i += GlobalSize())
    places[i] = static_cast<int32_t>(LargestOfWindow(x, plan.windows, i).place);
}

// The windows [begin, end) of an axis that reach over input `at`, some of which may step over it.
struct WindowRange {
  int64_t begin, end;
};

__device__ inline WindowRange WindowsOver(const WindowAxis& axis, int64_t at) {
  const int64_t last = at + axis.pad_begin, first = last - (axis.kernel - 1) * axis.dilation;
  const int64_t begin = first <= 0 ? 0 : Quotient(first + axis.stride - 1, axis.stride);
  const int64_t end = Quotient(last, axis.stride) + 1;
  return {begin, end < axis.output ? end : axis.output};
}

template <typename T>
__global__ void SumWindows(const int32_t* places, const T* dy, T* dx, PoolGradientPlan plan) {
  const WindowAxis *d = plan.windows.axes, *h = d + 1, *w = d + 2;
  const int64_t size = d->input * h->input * w->input;
  for (int64_t i = GlobalIndex(); i < plan.inputs; i += GlobalSize()) {
    const int64_t plane = Quotient(i, size), place = i - plane * size;
    const int64_t line = Quotient(place, w->input), slice = Quotient(line, h->input);
    const WindowRange ds = WindowsOver(*d, slice), hs = WindowsOver(*h, line - slice * h->input),
                      ws = WindowsOver(*w, place - line * w->input);
    ComputeType<T> sum = 0;
    for (int64_t od = ds.begin; od < ds.end; ++od) {
      for (int64_t oh = hs.begin; oh < hs.end; ++oh) {
        const int64_t windows = ((plane * d->output + od) * h->output + oh) * w->output;
        for (int64_t o = windows + ws.begin; o < windows + ws.end; ++o)
          if (places[o] == place) sum += Load(dy[o]);
      }
    }
    dx[i] = Rounded<T>(sum);
  }
}

using LaunchPool = absl::Status (*)(const RunContext& context);

template <typename S, typename T>
absl::Status LaunchGradient(const RunContext& context) {
  const auto& plan = context.state<PoolGradientPlan>();
  auto* places = context.scratch<int32_t>();
  if (plan.windows.count > 0)
    ONWARD_RETURN_IF_ERROR(Launch(FindLargest<S>, Blocks(plan.windows.count), kThreads, 0,
                                  StreamOf(context), context.in<S>(0), places, plan));
  return Launch(SumWindows<T>, Blocks(plan.inputs), kThreads, 0, StreamOf(context), places,
                context.in<T>(1), context.out<T>(0), plan);
}

class MaxPoolGradient : public Kernel {
 public:
  MaxPoolGradient(LaunchPool launch, PoolAttributes attributes)
      : launch_(launch), attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g, BindMaxPoolGradient(context, attributes_));
    auto* plan = context.NewState<PoolGradientPlan>();
    *plan = {g.planes * g.input_size(), WindowsOf(g)};
    context.SetScratch(plan->windows.count * static_cast<int64_t>(sizeof(int32_t)));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    return context.state<PoolGradientPlan>().inputs == 0 ? absl::OkStatus() : launch_(context);
  }

 private:
  LaunchPool launch_;
  PoolAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxPoolGradient(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  if (attributes.window.kernel.size() > kPoolAxes)
    return absl::UnimplementedError("only one to three spatial axes");
  LaunchPool launch = nullptr;
  const DType saved = spec.input_dtype(0), dtype = spec.input_dtype(1);
  DispatchDType(FloatTypes(), saved, [&](auto tag) {
    using S = typename decltype(tag)::type;
    if (saved == dtype) launch = LaunchGradient<S, S>;
    if (dtype == DType::kFloat32 && saved != DType::kFloat64) launch = LaunchGradient<S, float>;
  });
  if (launch == nullptr) return NoLoopFor(saved);
  return std::make_unique<MaxPoolGradient>(launch, std::move(attributes));
}

constexpr KernelEntry kKernels[] = {
    {"onward", "MaxPoolGradient", "max_pool_gradient_cuda", MakeMaxPoolGradient},
};

}  // namespace

KernelList PoolGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
