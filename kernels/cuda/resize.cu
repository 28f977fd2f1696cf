// Resize along up to three axes: a thread for each output, which weighs the inputs that it reads.
#include <algorithm>
#include <optional>

#include "kernels/bind/resize.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kAxes = 3;
constexpr int kLoops = 2 * kAxes + 1;  // axes that change stand between those that do not

struct ResizePlan {
  int64_t count = 0;                      // outputs
  int64_t dims[kLoops], strides[kLoops];  // of the output, of the input
  ResizeAxis axes[kAxes];
  ResizeRule rule;
  bool copies = false;  // nothing changes
};

// Where an output lies: its place among axes that do not change, and its positions on the others.
struct Place {
  int64_t base = 0, positions[kAxes];
};

__device__ Place PlaceOf(const ResizePlan& plan, int64_t i) {
  Place place;
  for (int d = kLoops - 1; d >= 0; --d) {
    const int64_t above = Quotient(i, plan.dims[d]), position = i - above * plan.dims[d];
    i = above;
    if (d % 2 == 1) {
      place.positions[d / 2] = position;
    } else {
      place.base += position * plan.strides[d];
    }
  }
  return place;
}

template <typename U>
__global__ void NearestLoop(const U* x, U* y, ResizePlan plan) {
  for (int64_t i = GlobalIndex(); i < plan.count; i += GlobalSize()) {
    const Place place = PlaceOf(plan, i);
    int64_t at = place.base;
    for (int a = 0; a < kAxes; ++a) {
      const ResizeAxis& axis = plan.axes[a];
      const double origin = OriginOf(plan.rule, axis, place.positions[a]);
      const double nearest = NearestTo(plan.rule.nearest, origin);
      const auto last = static_cast<double>(axis.in - 1);
      at += static_cast<int64_t>(nearest < 0      ? 0
                                 : nearest > last ? last
                                                  : nearest) *
            plan.strides[2 * a + 1];
    }
    y[i] = x[at];
  }
}

// The inputs of one output along an axis.
struct Taps {
  double center, stretch, scale;  // scale: what makes the weights' sum 1
  int64_t first, count;
};

__device__ double RawWeight(const ResizeRule& rule, const ResizeAxis& axis, const Taps& taps,
                            int64_t tap) {
  const int64_t position = taps.first + tap;
  if (rule.exclude_outside && (position < 0 || position >= axis.in)) return 0;
  return WeightAt(rule, (static_cast<double>(position) - taps.center) * taps.stretch);
}

__device__ Taps TapsOf(const ResizeRule& rule, const ResizeAxis& axis, int64_t count,
                       int64_t position) {
  if (count == 1) return {0, 1, 1, 0, 1};  // an axis of one element, which is as it was
  Taps taps;
  taps.center = OriginOf(rule, axis, position);
  taps.stretch = StretchOf(rule, axis.scale);
  taps.count = count;
  taps.first = static_cast<int64_t>(std::floor(taps.center)) + 1 - count / 2;
  double sum = 0;
  for (int64_t t = 0; t < count; ++t) sum += RawWeight(rule, axis, taps, t);
  taps.scale = sum == 0 ? 1 : 1 / sum;
  return taps;
}

__device__ int64_t PositionOf(const ResizeAxis& axis, const Taps& taps, int64_t tap) {
  const int64_t position = taps.first + tap;
  return position < 0 ? 0 : position >= axis.in ? axis.in - 1 : position;
}

struct TapCounts {
  int64_t of[kAxes];
};

template <typename T>
__global__ void InterpolateLoop(const T* x, T* y, ResizePlan plan, TapCounts counts) {
  using C = ComputeType<T>;
  for (int64_t i = GlobalIndex(); i < plan.count; i += GlobalSize()) {
    const Place place = PlaceOf(plan, i);
    Taps taps[kAxes];
    for (int a = 0; a < kAxes; ++a)
      taps[a] = TapsOf(plan.rule, plan.axes[a], counts.of[a], place.positions[a]);
    const auto weight = [&](int a, int64_t t) {
      return static_cast<C>(RawWeight(plan.rule, plan.axes[a], taps[a], t) * taps[a].scale);
    };
    const auto offset = [&](int a, int64_t t) {
      return PositionOf(plan.axes[a], taps[a], t) * plan.strides[2 * a + 1];
    };
    C sum = 0;
    for (int64_t t0 = 0; t0 < taps[0].count; ++t0) {
      const C w0 = weight(0, t0);
      const T* x0 = x + place.base + offset(0, t0);
      for (int64_t t1 = 0; t1 < taps[1].count; ++t1) {
        const C w1 = w0 * weight(1, t1);
        const T* x1 = x0 + offset(1, t1);
        for (int64_t t2 = 0; t2 < taps[2].count; ++t2)
          sum += w1 * weight(2, t2) * Load(x1[offset(2, t2)]);
      }
    }
    y[i] = Rounded<T>(sum);
  }
}

using LaunchPlan = absl::Status (*)(const RunContext& context, const ResizePlan& plan);

template <typename U>
absl::Status LaunchNearest(const RunContext& context, const ResizePlan& plan) {
  return Launch(NearestLoop<U>, Blocks(plan.count), kThreads, 0, StreamOf(context),
                context.in<U>(0), context.out<U>(0), plan);
}

template <typename T>
absl::Status LaunchInterpolate(const RunContext& context, const ResizePlan& plan) {
  TapCounts counts;
  for (int a = 0; a < kAxes; ++a) {
    const ResizeAxis& axis = plan.axes[a];
    counts.of[a] = axis.in == 1 && axis.out == 1 ? 1 : ResizeTaps(plan.rule, axis.scale);
  }
  return Launch(InterpolateLoop<T>, Blocks(plan.count), kThreads, 0, StreamOf(context),
                context.in<T>(0), context.out<T>(0), plan, counts);
}

class Resize : public Kernel {
 public:
  Resize(LaunchPlan launch, ResizeOptions options)
      : launch_(launch), options_(std::move(options)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(std::optional<BoundResize> bound, BindResize(context, options_));
    if (!bound) return context.Defer();
    auto* plan = context.NewState<ResizePlan>();
    plan->count = NumElements(bound->out);
    plan->rule = options_.rule;
    plan->copies = bound->axes.empty();
    if (plan->count == 0 || plan->copies) return absl::OkStatus();
    if (bound->axes.size() > kAxes)
      return absl::UnimplementedError("the device resizes up to three axes");
    SetLoops(context.input_dims(0), bound->axes, *plan);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<ResizePlan>();
    if (plan.count == 0 || context.input(0).data == context.output(0).data) return absl::OkStatus();
    return plan.copies ? CopyInput(context) : launch_(context, plan);
  }
  uint64_t host_inputs() const override { return ~uint64_t{1}; }  // roi, scales, sizes

 private:
  // The axes that change, the last ones of the plan, with what lies before, between and behind.
  static void SetLoops(DimsView dims, ResizeAxes axes, ResizePlan& plan) {
    std::sort(axes.begin(), axes.end(),
              [](const ResizeAxis& a, const ResizeAxis& b) { return a.axis < b.axis; });
    for (int d = 0; d < kLoops; ++d) plan.dims[d] = plan.strides[d] = 1;
    for (ResizeAxis& axis : plan.axes) axis.in = axis.out = 1;
    const auto rank = static_cast<int64_t>(dims.size());
    int64_t end = rank;
    int loop = kLoops - 1;
    for (size_t i = axes.size(); i-- > 0;) {
      const ResizeAxis& axis = axes[i];
      plan.dims[loop] = NumElements(dims, axis.axis + 1, end);
      plan.strides[loop--] = NumElements(dims, end, rank);
      plan.axes[loop / 2] = axis;
      plan.dims[loop] = axis.out;
      plan.strides[loop--] = NumElements(dims, axis.axis + 1, rank);
      end = axis.axis;
    }
    plan.dims[loop] = NumElements(dims, 0, end);
    plan.strides[loop] = NumElements(dims, end, rank);
  }

  LaunchPlan launch_;
  ResizeOptions options_;
};

LaunchPlan NearestOf(DType dtype) {
  switch (dtype == DType::kString ? 0 : BitSize(dtype)) {
    case 8:
      return LaunchNearest<uint8_t>;
    case 16:
      return LaunchNearest<uint16_t>;
    case 32:
      return LaunchNearest<uint32_t>;
    case 64:
      return LaunchNearest<uint64_t>;
    default:
      return nullptr;
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeResize(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(ResizeOptions options, ReadResizeOptions(spec));
  if (options.rule.coordinates == Coordinates::kTfCropAndResize)
    return absl::UnimplementedError("tf_crop_and_resize");
  LaunchPlan launch = nullptr;
  if (options.rule.mode == ResizeMode::kNearest) {
    launch = NearestOf(spec.input_dtype(0));
  } else {
    DispatchDType(FloatTypes(), spec.input_dtype(0),
                  [&](auto tag) { launch = LaunchInterpolate<typename decltype(tag)::type>; });
  }
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Resize>(launch, std::move(options));
}

constexpr KernelEntry kKernels[] = {{"", "Resize", "resize_cuda", MakeResize}};

}  // namespace

KernelList ResizeKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
