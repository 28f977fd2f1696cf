// LayerNormalizationGradient: rows of X and dY are read once and held by the threads that share
// them, which also sum what each column adds to the gradients of scale and bias.
#include <algorithm>
#include <cmath>

#include "kernels/bind/layer_normalization.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {
namespace {

// Elements of a row that a thread holds: as many as registers have room for.
template <typename T, int kPack>
inline constexpr int kHeld = (kPack == 1 ? 16 : 32) * 4 / static_cast<int>(sizeof(T));

// Blocks of a launch: sums of columns are one set a block.
constexpr int64_t kMostBlocks = 264;

int64_t BlocksFor(const LayerRows& rows, bool wide) {
  const int64_t at_once = wide ? 1 : kThreads / kWarp;
  return std::clamp<int64_t>((rows.rows + at_once - 1) / at_once, 1, kMostBlocks);
}

template <typename S, typename R, typename T>
struct GradientOperands {
  const S* x;
  const T* scale;
  const R* dy;
  T *dx, *sums;  // sums: [block][of scale, of bias][column]
  LayerRows rows;
  T epsilon;
};

// Calls f(k, p) for pack p of the row, the k-th of this thread.
template <typename Threads, int kPack, typename T, typename F>
__device__ void ForEachPack(int64_t columns, F&& f) {
#pragma unroll
  for (int k = 0; k < kHeld<T, kPack> / kPack; ++k) {
    const int64_t p = Threads::index() + static_cast<int64_t>(k) * Threads::count();
    if (p * kPack < columns) f(k, p);
  }
}

// A thread's elements of the current row, and its sums over rows for its columns.
template <typename T, int kPack>
struct HeldRow {
  static constexpr int kCount = kHeld<T, kPack>;
  T normal[kCount], dy[kCount];
  T of_scale[kCount] = {}, of_bias[kCount] = {};
};

// Reads a row and leaves it normalised; returns 1 / deviation.
template <typename Threads, int kPack, typename S, typename R, typename T>
__device__ T ReadRow(const GradientOperands<S, R, T>& o, int64_t row, HeldRow<T, kPack>& held) {
  const int64_t n = o.rows.columns;
  T mean = 0, variance = 0;
  ForEachPack<Threads, kPack, T>(n, [&](int k, int64_t p) {
    const auto x = LoadPack<kPack>(o.x + row * n + p * kPack);
    const auto dy = LoadPack<kPack>(o.dy + row * n + p * kPack);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      held.normal[k * kPack + i] = static_cast<T>(Load(x.elements[i]));
      held.dy[k * kPack + i] = static_cast<T>(Load(dy.elements[i]));
      mean += held.normal[k * kPack + i];
    }
  });
  mean = Threads::template Combine<functors::Add>(mean) / static_cast<T>(n);
  ForEachPack<Threads, kPack, T>(n, [&](int k, int64_t) {
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      T& element = held.normal[k * kPack + i];
      element -= mean;
      variance += element * element;
    }
  });
  variance = Threads::template Combine<functors::Add>(variance) / static_cast<T>(n);
  const T inverse = T(1) / std::sqrt(variance + o.epsilon);
  ForEachPack<Threads, kPack, T>(n, [&](int k, int64_t) {
#pragma unroll
    for (int i = 0; i < kPack; ++i) held.normal[k * kPack + i] *= inverse;
  });
  return inverse;
}

// Writes the gradient of the row and adds it to the sums of the columns.
template <typename Threads, int kPack, typename S, typename R, typename T>
__device__ void StoreRow(const GradientOperands<S, R, T>& o, int64_t row, T inverse,
                         HeldRow<T, kPack>& held) {
  const int64_t n = o.rows.columns;
  T mean = 0, along = 0;
  ForEachPack<Threads, kPack, T>(n, [&](int k, int64_t p) {
    const auto scale = LoadPack<kPack>(o.scale + p * kPack);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const int at = k * kPack + i;
      held.of_bias[at] += held.dy[at];
      held.of_scale[at] += held.dy[at] * held.normal[at];
      held.dy[at] *= scale.elements[i];
      mean += held.dy[at];
      along += held.dy[at] * held.normal[at];
    }
  });
  mean = Threads::template Combine<functors::Add>(mean) / static_cast<T>(n);
  along = Threads::template Combine<functors::Add>(along) / static_cast<T>(n);
  ForEachPack<Threads, kPack, T>(n, [&](int k, int64_t p) {
    Pack<T, kPack> dx;
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const int at = k * kPack + i;
      dx.elements[i] = (held.dy[at] - mean - held.normal[at] * along) * inverse;
    }
    StorePack(dx, o.dx + row * n + p * kPack);
  });
}

// The warps of a block add their sums one after the other.
template <bool kWide, int kPack, typename S, typename R, typename T>
__device__ void StoreSums(const GradientOperands<S, R, T>& o, const HeldRow<T, kPack>& held) {
  using Threads = RowThreads<kWide>;
  const int64_t n = o.rows.columns;
  T* sums = o.sums + blockIdx.x * 2 * n;
  constexpr int kTurns = kWide ? 1 : kThreads / kWarp;
  for (int turn = 0; turn < kTurns; ++turn) {
    if (kWide || static_cast<int>(threadIdx.x) / kWarp == turn) {
      ForEachPack<Threads, kPack, T>(n, [&](int k, int64_t p) {
#pragma unroll
        for (int i = 0; i < kPack; ++i) {
          const int64_t column = p * kPack + i;
          const T before[] = {turn == 0 ? T(0) : sums[column], turn == 0 ? T(0) : sums[n + column]};
          sums[column] = before[0] + held.of_scale[k * kPack + i];
          sums[n + column] = before[1] + held.of_bias[k * kPack + i];
        }
      });
    }
    __syncthreads();
  }
}

template <typename S, typename R, typename T, bool kWide, int kPack>
__global__ void GradientOfRows(GradientOperands<S, R, T> o) {
  using Threads = RowThreads<kWide>;
  HeldRow<T, kPack> held;
  for (int64_t row = Threads::first(); row < o.rows.rows; row += Threads::step()) {
    const T inverse = ReadRow<Threads, kPack>(o, row, held);
    StoreRow<Threads, kPack>(o, row, inverse, held);
  }
  StoreSums<kWide, kPack>(o, held);
}

// A warp sums a column's sums of all blocks. dscale, dbias: may be null.
template <typename T>
__global__ void CombineSums(const T* sums, T* dscale, T* dbias, int64_t columns, int64_t blocks) {
  using Threads = RowThreads<false>;
  for (int64_t i = Threads::first(); i < 2 * columns; i += Threads::step()) {
    T sum = 0;
    for (int64_t block = Threads::index(); block < blocks; block += Threads::count())
      sum += sums[block * 2 * columns + i];
    sum = Threads::template Combine<functors::Add>(sum);
    T* to = i < columns ? dscale : dbias;
    if (Threads::index() == 0 && to != nullptr) to[i < columns ? i : i - columns] = sum;
  }
}

template <typename S, typename R, typename T, int kPack>
absl::Status LaunchPacks(const GradientOperands<S, R, T>& o, T* dscale, T* dbias,
                         cudaStream_t stream) {
  const bool wide = o.rows.columns > kHeld<T, kPack> * kWarp;
  const int64_t blocks = BlocksFor(o.rows, wide);
  ONWARD_RETURN_IF_ERROR(
      Launch(wide ? GradientOfRows<S, R, T, true, kPack> : GradientOfRows<S, R, T, false, kPack>,
             static_cast<unsigned>(blocks), kThreads, 0, stream, o));
  return Launch(CombineSums<T>, RowBlocks(2 * o.rows.columns, false), kThreads, 0, stream,
                static_cast<const T*>(o.sums), dscale, dbias, o.rows.columns, blocks);
}

using LaunchGradient = absl::Status (*)(const RunContext& context, float epsilon);

template <typename S, typename R>
absl::Status LaunchLayerGradient(const RunContext& context, float epsilon) {
  using T = ComputeType<S>;
  const auto& rows = context.state<LayerRows>();
  const GradientOperands<S, R, T> o = {context.in<S>(0),       context.in<T>(1),
                                       context.in<R>(2),       context.out<T>(0),
                                       context.scratch<T>(),   rows,
                                       static_cast<T>(epsilon)};
  constexpr int kPack = kPackOf<S, T>;
  const bool in_packs = rows.columns % kPack == 0 && ArePackAligned({o.x, o.scale, o.dy, o.dx});
  const auto launch = in_packs ? LaunchPacks<S, R, T, kPack> : LaunchPacks<S, R, T, 1>;
  return launch(o, context.has_output(1) ? context.out<T>(1) : nullptr,
                context.has_output(2) ? context.out<T>(2) : nullptr, StreamOf(context));
}

class LayerNormalizationGradient : public Kernel {
 public:
  LayerNormalizationGradient(LaunchGradient launch, float epsilon)
      : launch_(launch), epsilon_(epsilon) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const LayerRows rows, BindLayerNormalizationGradient(context));
    *context.NewState<LayerRows>() = rows;
    context.SetScratch(BlocksFor(rows, true) * 2 * rows.columns *
                       static_cast<int64_t>(sizeof(double)));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    return context.state<LayerRows>().columns == 0 ? absl::OkStatus() : launch_(context, epsilon_);
  }

 private:
  LaunchGradient launch_;
  float epsilon_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeLayerNormalizationGradient(const NodeSpec& spec) {
  const DType x = spec.input_dtype(0), scale = spec.input_dtype(1), dy = spec.input_dtype(2);
  LaunchGradient launch = nullptr;
  int64_t most = 0;  // columns
  DispatchDType(FloatTypes(), x, [&](auto tag) {
    using S = typename decltype(tag)::type;
    using T = ComputeType<S>;
    if (scale != kDTypeOf<T>) return;
    most = kHeld<T, 1> * kThreads;
    if (dy == scale) launch = LaunchLayerGradient<S, T>;
    if (dy == x) launch = LaunchLayerGradient<S, S>;
    if constexpr (std::is_same_v<S, float>) {
      if (dy == DType::kFloat16) launch = LaunchLayerGradient<S, Float16>;
      if (dy == DType::kBFloat16) launch = LaunchLayerGradient<S, BFloat16>;
    }
  });
  if (launch == nullptr) return NoLoopFor(x);
  const std::optional<SymbolicDims>& shape = spec.input_type(0).shape;
  if (!shape || shape->empty() || !shape->back().known() || shape->back().value() > most)
    return absl::UnimplementedError(
        absl::StrCat("only rows that are known to have ", most, " elements at most"));
  return std::make_unique<LayerNormalizationGradient>(launch,
                                                      spec.attributes().Float("epsilon", 1e-5f));
}

constexpr KernelEntry kKernels[] = {{"onward", "LayerNormalizationGradient",
                                     "layer_normalization_gradient_cuda",
                                     MakeLayerNormalizationGradient}};

}  // namespace

KernelList LayerNormalizationGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
