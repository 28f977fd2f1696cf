// Softmax, LogSoftmax and Hardmax along one axis.
#include "kernels/bind/softmax.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/extreme_run.h"

namespace onward::kernels::cpu {
namespace {

enum class SoftmaxKind { kSoftmax, kLogSoftmax, kHardmax };

// Columns that are normalised together where the axis is not the last one.
constexpr int64_t kColumns = 64;

template <typename T>
void RunHardmaxRow(const T* x, T* y, int64_t count) {
  using C = ComputeType<T>;
  const Extreme<C> top = ExtremeOfRun<true>(x, count);
  int64_t best = 0;
  // The first NaN wins, as in NumPy's argmax.
  for (; best + 1 < count; ++best) {
    const C value = static_cast<C>(x[best]);
    if (top.nan ? value != value : value == top.value) break;
  }
  std::fill_n(reinterpret_cast<unsigned char*>(y), count * static_cast<int64_t>(sizeof(T)),
              static_cast<unsigned char>(0));
  y[best] = T(1);
}

template <typename T>
void RunHardmaxTile(const T* x, T* y, const AxisSplit& split, int64_t columns) {
  using C = ComputeType<T>;
  if (split.inner == 1) return RunHardmaxRow(x, y, split.count);
  for (int64_t j = 0; j < columns; ++j) {
    int64_t best = 0;
    for (int64_t i = 0; i < split.count; ++i) {
      const C value = static_cast<C>(x[i * split.inner + j]);
      const C top = static_cast<C>(x[best * split.inner + j]);
      if (value > top || (value != value && top == top)) best = i;
      y[i * split.inner + j] = T(0);
    }
    y[best * split.inner + j] = T(1);
  }
}

template <typename T, bool log>
void RunSoftmaxTile(const T* x, T* y, const AxisSplit& split, int64_t columns) {
  using C = ComputeType<T>;
  C top[kColumns], sum[kColumns];
  std::fill(top, top + columns, -std::numeric_limits<C>::infinity());
  std::fill(sum, sum + columns, C(0));
  for (int64_t i = 0; i < split.count; ++i) {
    const T* row = x + i * split.inner;
    for (int64_t j = 0; j < columns; ++j) top[j] = functors::Max()(top[j], static_cast<C>(row[j]));
  }
  for (int64_t i = 0; i < split.count; ++i) {
    const T* row = x + i * split.inner;
    T* to = y + i * split.inner;
    for (int64_t j = 0; j < columns; ++j) {
      const C e = std::exp(static_cast<C>(row[j]) - top[j]);
      sum[j] += e;
      if constexpr (!log && std::is_same_v<T, C>) to[j] = e;
    }
  }
  for (int64_t j = 0; j < columns; ++j) sum[j] = log ? std::log(sum[j]) : C(1) / sum[j];
  for (int64_t i = 0; i < split.count; ++i) {
    const T* row = x + i * split.inner;
    T* to = y + i * split.inner;
    for (int64_t j = 0; j < columns; ++j) {
      if constexpr (log) {
        to[j] = static_cast<T>(static_cast<C>(row[j]) - top[j] - sum[j]);
      } else if constexpr (std::is_same_v<T, C>) {
        to[j] *= sum[j];
      } else {
        to[j] = static_cast<T>(std::exp(static_cast<C>(row[j]) - top[j]) * sum[j]);
      }
    }
  }
}

template <typename T, SoftmaxKind kind>
void RunTile(const void* in, void* out, const AxisSplit& split, int64_t offset, int64_t columns) {
  const T* x = static_cast<const T*>(in) + offset;
  T* y = static_cast<T*>(out) + offset;
  if constexpr (kind == SoftmaxKind::kHardmax) {
    RunHardmaxTile(x, y, split, columns);
  } else {
    RunSoftmaxTile<T, kind == SoftmaxKind::kLogSoftmax>(x, y, split, columns);
  }
}

using TileLoop = void (*)(const void* in, void* out, const AxisSplit& split, int64_t offset,
                          int64_t columns);

class Softmax : public Kernel {
 public:
  Softmax(TileLoop loop, int64_t axis) : loop_(loop), axis_(axis) {}

  absl::Status Bind(BindContext& context) const override { return BindSoftmax(context, axis_); }

  absl::Status Run(RunContext& context) const override {
    const AxisSplit& split = context.state<AxisSplit>();
    if (split.count == 0 || split.inner == 0) return absl::OkStatus();
    const void* in = context.input(0).data;
    void* out = context.output(0).data;
    const int64_t tiles = (split.inner + kColumns - 1) / kColumns;
    const int64_t tile_size = split.count * std::min(split.inner, kColumns);
    context.ParallelFor(split.outer * tiles, std::max<int64_t>(1, kMathGrain / tile_size),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t tile = begin; tile < end; ++tile) {
                            const int64_t first = tile % tiles * kColumns;
                            loop_(in, out, split, tile / tiles * split.count * split.inner + first,
                                  std::min(kColumns, split.inner - first));
                          }
                        });
    return absl::OkStatus();
  }

 private:
  TileLoop loop_;
  int64_t axis_;
};

template <SoftmaxKind kind>
absl::StatusOr<std::unique_ptr<Kernel>> MakeSoftmax(const NodeSpec& spec) {
  TileLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunTile<typename decltype(tag)::type, kind>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Softmax>(loop, spec.attributes().Int("axis", -1));
}

constexpr KernelEntry kKernels[] = {
    {"", "Hardmax", "hardmax_reference", MakeSoftmax<SoftmaxKind::kHardmax>},
    {"", "LogSoftmax", "log_softmax_reference", MakeSoftmax<SoftmaxKind::kLogSoftmax>},
    {"", "Softmax", "softmax_reference", MakeSoftmax<SoftmaxKind::kSoftmax>},
};

}  // namespace

KernelList ReferenceSoftmax() { return kKernels; }

}  // namespace onward::kernels::cpu
