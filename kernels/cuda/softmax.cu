// Softmax, LogSoftmax and Hardmax along one axis: statistics in float (double for doubles), as the
// reference has them.
#include <cmath>
#include <limits>

#include "kernels/bind/softmax.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/lines.cuh"
#include "kernels/cuda/packs.cuh"

namespace onward::kernels::cuda {
namespace {

template <typename C>
inline constexpr C kLeast = -std::numeric_limits<C>::infinity();

template <typename T, bool kLog>
__device__ T Normalised(ComputeType<T> x, ComputeType<T> top, ComputeType<T> scale) {
  if constexpr (kLog) return Rounded<T>(x - top - scale);
  return Rounded<T>(std::exp(x - top) * scale);
}

// The factor or addend that the sum of exponentials becomes.
template <bool kLog, typename C>
__device__ C ScaleOf(C sum) {
  return kLog ? std::log(sum) : C(1) / sum;
}

// The axis is the last one, a multiple of kPack elements. A thread reads only what it writes, so
// that y may be x.
template <typename T, bool kLog, bool kWide, int kPack>
__global__ void SoftmaxRows(const T* x, T* y, AxisSplit split) {
  using C = ComputeType<T>;
  using Threads = RowThreads<kWide>;
  const int64_t packs = split.count / kPack;
  for (int64_t row = Threads::first(); row < split.outer; row += Threads::step()) {
    const T* from = x + row * split.count;
    T* to = y + row * split.count;
    C top = kLeast<C>;
    for (int64_t p = Threads::index(); p < packs; p += Threads::count()) {
      const Pack<T, kPack> pack = LoadPack<kPack>(from + p * kPack);
      for (int i = 0; i < kPack; ++i) top = functors::Max()(top, Load(pack.elements[i]));
    }
    top = Threads::template Combine<functors::Max>(top);
    C sum = 0;
    for (int64_t p = Threads::index(); p < packs; p += Threads::count()) {
      const Pack<T, kPack> pack = LoadPack<kPack>(from + p * kPack);
      for (int i = 0; i < kPack; ++i) sum += std::exp(Load(pack.elements[i]) - top);
    }
    const C scale = ScaleOf<kLog>(Threads::template Combine<functors::Add>(sum));
    for (int64_t p = Threads::index(); p < packs; p += Threads::count()) {
      Pack<T, kPack> pack = LoadPack<kPack>(from + p * kPack);
      for (T& element : pack.elements) element = Normalised<T, kLog>(Load(element), top, scale);
      StorePack(pack, to + p * kPack);
    }
  }
}

// The axis has inner ones: a block takes neighbouring columns.
template <typename T, bool kLog>
__global__ void SoftmaxColumns(const T* x, T* y, AxisSplit split) {
  using C = ComputeType<T>;
  const int64_t tiles = (split.inner + kColumns - 1) / kColumns;
  for (int64_t tile = blockIdx.x; tile < split.outer * tiles; tile += gridDim.x) {
    const int64_t column = tile % tiles * kColumns + threadIdx.x;
    const int64_t count = column < split.inner ? split.count : 0;
    const int64_t at = tile / tiles * split.count * split.inner + column;
    C top = kLeast<C>;
    for (int64_t i = threadIdx.y; i < count; i += kStripes)
      top = functors::Max()(top, Load(x[at + i * split.inner]));
    top = CombineColumn<functors::Max>(top);
    C sum = 0;
    for (int64_t i = threadIdx.y; i < count; i += kStripes)
      sum += std::exp(Load(x[at + i * split.inner]) - top);
    const C scale = ScaleOf<kLog>(CombineColumn<functors::Add>(sum));
    for (int64_t i = threadIdx.y; i < count; i += kStripes) {
      y[at + i * split.inner] = Normalised<T, kLog>(Load(x[at + i * split.inner]), top, scale);
    }
  }
}

// 1 at the first of the largest elements, the first NaN where there is one. A thread writes only
// what it alone reads, so that y may be x.
template <typename T, typename Lines>
__global__ void HardmaxLines(const T* x, T* y, AxisSplit split) {
  using C = ComputeType<T>;
  Lines::ForEach(split, [&](const Line& line) {
    C top = kLeast<C>;
    for (int64_t i = Lines::index(); i < line.count; i += Lines::count())
      top = functors::Max()(top, Load(x[line.first + i * split.inner]));
    top = Lines::template Combine<functors::Max>(top);
    int64_t best = split.count;
    for (int64_t i = Lines::index(); i < line.count && best == split.count; i += Lines::count()) {
      const C value = Load(x[line.first + i * split.inner]);
      if (value == top || (value != value && top != top)) best = i;
    }
    best = Lines::template Combine<functors::Min>(best);
    for (int64_t i = Lines::index(); i < line.count; i += Lines::count())
      y[line.first + i * split.inner] = Rounded<T>(i == best ? C(1) : C(0));
  });
}

template <typename T, bool kLog, int kPack>
absl::Status LaunchRows(const T* x, T* y, const AxisSplit& split, cudaStream_t stream) {
  const bool wide = AreWide(split.outer, split.count / kPack);
  return Launch(wide ? SoftmaxRows<T, kLog, true, kPack> : SoftmaxRows<T, kLog, false, kPack>,
                RowBlocks(split.outer, wide), kThreads, 0, stream, x, y, split);
}

using LaunchAxis = absl::Status (*)(const void* x, void* y, const AxisSplit& split,
                                    cudaStream_t stream);

template <typename T, bool kLog>
absl::Status LaunchSoftmax(const void* x_data, void* y_data, const AxisSplit& split,
                           cudaStream_t stream) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  if (split.inner > 1) {
    const int64_t tiles = split.outer * ((split.inner + kColumns - 1) / kColumns);
    return Launch(SoftmaxColumns<T, kLog>, Blocks(tiles * kThreads), dim3(kColumns, kStripes), 0,
                  stream, x, y, split);
  }
  constexpr int kPack = kPackOf<T>;
  if (split.count % kPack == 0 && ArePackAligned({x, y}))
    return LaunchRows<T, kLog, kPack>(x, y, split, stream);
  return LaunchRows<T, kLog, 1>(x, y, split, stream);
}

template <typename T>
absl::Status LaunchHardmax(const void* x, void* y, const AxisSplit& split, cudaStream_t stream) {
  return LaunchLines(HardmaxLines<T, RowLines<false>>, HardmaxLines<T, RowLines<true>>,
                     HardmaxLines<T, ColumnLines>, split, stream, static_cast<const T*>(x),
                     static_cast<T*>(y), split);
}

class Softmax : public Kernel {
 public:
  Softmax(LaunchAxis launch, int64_t axis) : launch_(launch), axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    context.AllowInPlace(0, 0);
    return BindSoftmax(context, axis_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto& split = context.state<AxisSplit>();
    if (split.outer == 0 || split.count == 0 || split.inner == 0) return absl::OkStatus();
    return launch_(context.input(0).data, context.output(0).data, split, StreamOf(context));
  }

 private:
  LaunchAxis launch_;
  int64_t axis_;
};

enum class SoftmaxKind { kSoftmax, kLogSoftmax, kHardmax };

template <SoftmaxKind kKind>
absl::StatusOr<std::unique_ptr<Kernel>> MakeSoftmax(const NodeSpec& spec) {
  LaunchAxis launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kKind == SoftmaxKind::kHardmax) {
      launch = LaunchHardmax<T>;
    } else {
      launch = LaunchSoftmax<T, kKind == SoftmaxKind::kLogSoftmax>;
    }
  });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Softmax>(launch, spec.attributes().Int("axis", -1));
}

constexpr KernelEntry kKernels[] = {
    {"", "Hardmax", "hardmax_cuda", MakeSoftmax<SoftmaxKind::kHardmax>},
    {"", "LogSoftmax", "log_softmax_cuda", MakeSoftmax<SoftmaxKind::kLogSoftmax>},
    {"", "Softmax", "softmax_cuda", MakeSoftmax<SoftmaxKind::kSoftmax>},
};

}  // namespace

KernelList SoftmaxKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
