// GridSample and AffineGrid, over one to three spatial axes.
#include <algorithm>

#include "kernels/bind/grid_sample.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kAxes = 3;  // missing outer ones have one element

struct SamplePlan {
  int64_t images, channels, samples;
  int64_t parts;  // threads that share the channels of a sample
  int64_t sizes[kAxes];
  int axes;
  GridOptions options;
};

template <typename G>
__device__ void FindTaps(const SamplePlan& plan, const G* at, GridTaps (&taps)[kAxes]) {
  for (int a = 0; a < kAxes; ++a) {
    taps[a].count = 1;
    taps[a].weights[0] = 1;
    // The grid names the last axis first.
    if (a >= kAxes - plan.axes) {
      taps[a] =
          GridTapsOf(plan.options, static_cast<double>(Load(at[kAxes - 1 - a])), plan.sizes[a]);
    }
  }
}

// Taps of no weight are not read, so that a NaN beside the sample stays there.
template <typename T>
__device__ T SumOfTaps(const SamplePlan& plan, const GridTaps (&taps)[kAxes], const T* image) {
  using C = ComputeType<T>;
  C sum = 0;
  for (int64_t i = 0; i < taps[0].count; ++i) {
    if (taps[0].weights[i] == 0) continue;
    for (int64_t j = 0; j < taps[1].count; ++j) {
      if (taps[1].weights[j] == 0) continue;
      const double weight = taps[0].weights[i] * taps[1].weights[j];
      const int64_t line = taps[0].positions[i] * plan.sizes[1] + taps[1].positions[j];
      for (int64_t k = 0; k < taps[2].count; ++k) {
        if (taps[2].weights[k] == 0) continue;
        const C value = Load(image[line * plan.sizes[2] + taps[2].positions[k]]);
        sum += static_cast<C>(weight * taps[2].weights[k]) * value;
      }
    }
  }
  return Rounded<T>(sum);
}

template <typename T>
__device__ T OnlyTap(const SamplePlan& plan, const GridTaps (&taps)[kAxes], const T* image) {
  int64_t at = 0;
  for (int a = 0; a < kAxes; ++a) {
    if (taps[a].weights[0] == 0) return T{};
    at = at * plan.sizes[a] + taps[a].positions[0];
  }
  return image[at];
}

template <bool kNearest, typename T, typename G>
__global__ void SampleLoop(const T* x, const G* grid, T* y, SamplePlan plan) {
  const int64_t count = plan.images * plan.parts * plan.samples;
  const int64_t size = plan.sizes[0] * plan.sizes[1] * plan.sizes[2];
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t line = Quotient(i, plan.samples), sample = i - line * plan.samples;
    const int64_t image = Quotient(line, plan.parts), part = line - image * plan.parts;
    GridTaps taps[kAxes];
    FindTaps(plan, grid + (image * plan.samples + sample) * plan.axes, taps);
    for (int64_t c = part; c < plan.channels; c += plan.parts) {
      const int64_t plane = image * plan.channels + c;
      T* to = y + plane * plan.samples + sample;
      if constexpr (kNearest) {
        *to = OnlyTap(plan, taps, x + plane * size);
      } else {
        *to = SumOfTaps(plan, taps, x + plane * size);
      }
    }
  }
}

using LaunchSamples = absl::Status (*)(const RunContext& context, const SamplePlan& plan);

template <bool kNearest, typename T, typename G>
absl::Status LaunchLoop(const RunContext& context, const SamplePlan& plan) {
  return Launch(SampleLoop<kNearest, T, G>, Blocks(plan.images * plan.parts * plan.samples),
                kThreads, 0, StreamOf(context), context.in<T>(0), context.in<G>(1),
                context.out<T>(0), plan);
}

template <typename G>
absl::Status LaunchNearest(const RunContext& context, const SamplePlan& plan) {
  const auto bytes = static_cast<uint64_t>(BitSize(context.input(0).dtype) / 8);
  return DispatchChunk(
      bytes, [&](auto chunk) { return LaunchLoop<true, decltype(chunk), G>(context, plan); });
}

class GridSample : public Kernel {
 public:
  GridSample(LaunchSamples launch, GridOptions options) : launch_(launch), options_(options) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindGridSample(context));
    if (context.input_dims(0).size() <= kAxes + 2) return absl::OkStatus();
    return absl::UnimplementedError("the device samples grids of up to 3 axes");
  }
  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const TensorView &in = context.input(0), &grid = context.input(1);
    SamplePlan plan;
    plan.images = in.dim(0);
    plan.channels = in.dim(1);
    plan.samples = NumElements(grid.dims, 1, grid.rank() - 1);
    // Channels share a sample's taps where there are enough threads without.
    constexpr int64_t kThreadsWanted = int64_t{1} << 17;
    plan.parts =
        std::clamp<int64_t>(kThreadsWanted / (plan.images * plan.samples), 1, plan.channels);
    plan.axes = static_cast<int>(in.rank()) - 2;
    plan.options = options_;
    for (int a = 0; a < kAxes; ++a) {
      const int axis = a - kAxes + plan.axes;
      plan.sizes[a] = axis < 0 ? 1 : in.dim(axis + 2);
    }
    return launch_(context, plan);
  }

 private:
  LaunchSamples launch_;
  GridOptions options_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeGridSample(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const GridOptions options, ReadGridOptions(spec));
  const DType dtype = spec.input_dtype(0);
  const bool nearest = options.mode == GridMode::kNearest;
  if (nearest && (dtype == DType::kString || BitSize(dtype) % 8 != 0)) return NoLoopFor(dtype);
  LaunchSamples launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(1), [&](auto grid) {
    using G = typename decltype(grid)::type;
    if (nearest) {
      launch = LaunchNearest<G>;
    } else {
      DispatchDType(FloatTypes(), dtype,
                    [&](auto tag) { launch = LaunchLoop<false, typename decltype(tag)::type, G>; });
    }
  });
  if (launch == nullptr) return NoLoopFor(nearest ? spec.input_dtype(1) : dtype);
  return std::make_unique<GridSample>(launch, options);
}

struct AffinePlan {
  int64_t points, count;  // of an image, of all
  int64_t sizes[kAxes];   // the last axis first
  bool align_corners;
};

template <typename T, int kRank>
__global__ void AffineLoop(const T* theta, T* grid, AffinePlan plan) {
  for (int64_t p = GlobalIndex(); p < plan.count; p += GlobalSize()) {
    const int64_t image = Quotient(p, plan.points);
    int64_t rest = p - image * plan.points;
    double at[kRank];
    for (int a = 0; a < kRank; ++a) {
      const int64_t above = Quotient(rest, plan.sizes[a]);
      at[a] = AffineCoordinate(plan.align_corners, rest - above * plan.sizes[a], plan.sizes[a]);
      rest = above;
    }
    for (int r = 0; r < kRank; ++r) {
      const T* row = theta + (image * kRank + r) * (kRank + 1);
      double sum = static_cast<double>(Load(row[kRank]));
      for (int a = 0; a < kRank; ++a) sum += static_cast<double>(Load(row[a])) * at[a];
      grid[p * kRank + r] = Rounded<T>(static_cast<ComputeType<T>>(sum));
    }
  }
}

using LaunchPoints = absl::Status (*)(const RunContext& context, const AffinePlan& plan);

template <typename T>
absl::Status LaunchAffine(const RunContext& context, const AffinePlan& plan) {
  using Loop = void (*)(const T* theta, T* grid, AffinePlan plan);
  constexpr Loop kLoops[] = {AffineLoop<T, 1>, AffineLoop<T, 2>, AffineLoop<T, 3>};
  return Launch(kLoops[context.output(0).rank() - 3], Blocks(plan.count), kThreads, 0,
                StreamOf(context), context.in<T>(0), context.out<T>(0), plan);
}

class AffineGrid : public Kernel {
 public:
  AffineGrid(LaunchPoints launch, bool align_corners)
      : launch_(launch), align_corners_(align_corners) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindAffineGrid(context));
    if (context.deferred() || context.input_dims(0)[1] <= kAxes) return absl::OkStatus();
    return absl::UnimplementedError("the device makes grids of up to 3 axes");
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& out = context.output(0);
    if (out.num_elements() == 0) return absl::OkStatus();
    AffinePlan plan;
    const auto axes = out.rank() - 2;
    plan.points = NumElements(out.dims, 1, out.rank() - 1);
    plan.count = out.dim(0) * plan.points;
    plan.align_corners = align_corners_;
    for (int a = 0; a < axes; ++a) plan.sizes[a] = out.dim(axes - a);
    return launch_(context, plan);
  }
  uint64_t host_inputs() const override { return 2; }  // the size

 private:
  LaunchPoints launch_;
  bool align_corners_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAffineGrid(const NodeSpec& spec) {
  LaunchPoints launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchAffine<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<AffineGrid>(launch, spec.attributes().Int("align_corners", 0) != 0);
}

constexpr KernelEntry kKernels[] = {
    {"", "AffineGrid", "affine_grid_cuda", MakeAffineGrid},
    {"", "GridSample", "grid_sample_cuda", MakeGridSample},
};

}  // namespace

KernelList GridSampleKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
