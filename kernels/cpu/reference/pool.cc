// MaxPool, AveragePool, LpPool and the global pools.
#include "kernels/bind/pool.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/lp_norm.h"

namespace onward::kernels::cpu {
namespace {

struct PoolState {
  absl::Span<const WindowAxis> axes;
  int64_t planes, input_size, output_size;
};

PoolState KeepGeometry(BindContext& context, const PoolGeometry& g) {
  return {context.Keep<WindowAxis>(absl::Span<const WindowAxis>(g.axes)), g.planes, g.input_size(),
          g.output_size()};
}

// Sums and powers of narrow formats are taken in float.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The taps of one window that lie inside the input, as ranges per axis.
struct WindowRange {
  int64_t first[8];
  int64_t last[8];
  int64_t start[8];
};
constexpr size_t kMaxAxes = 8;

// Calls visit(offset) for every input element of the window at output position `position`.
template <typename Visit>
void VisitWindow(absl::Span<const WindowAxis> axes, int64_t position, const Visit& visit) {
  WindowRange range;
  for (size_t i = axes.size(); i-- > 0;) {
    range.start[i] = axes[i].start(position % axes[i].output);
    range.first[i] = axes[i].first_tap(range.start[i]);
    range.last[i] = axes[i].last_tap(range.start[i]);
    position /= axes[i].output;
    if (range.first[i] >= range.last[i]) return;
  }
  const size_t inner = axes.size() - 1;
  int64_t tap[kMaxAxes];
  std::copy_n(range.first, axes.size(), tap);
  while (true) {
    int64_t row = 0;
    for (size_t i = 0; i < inner; ++i)
      row = (row + range.start[i] + tap[i] * axes[i].dilation) * axes[i + 1].input;
    for (int64_t k = range.first[inner]; k < range.last[inner]; ++k)
      visit(row + range.start[inner] + k * axes[inner].dilation);
    size_t i = inner;
    while (i-- > 0) {
      if (++tap[i] < range.last[i]) break;
      tap[i] = range.first[i];
    }
    if (i == static_cast<size_t>(-1)) return;
  }
}

// How many elements an average with padding divides by: taps inside the padded input.
int64_t PaddedCount(absl::Span<const WindowAxis> axes, int64_t position) {
  int64_t count = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    WindowAxis padded = axes[i];
    padded.input += padded.pad_begin + padded.pad_end;
    count *= padded.last_tap(position % axes[i].output * axes[i].stride);
    position /= axes[i].output;
  }
  return count;
}

int64_t WindowSize(absl::Span<const WindowAxis> axes) {
  int64_t size = 1;
  for (const WindowAxis& axis : axes) size *= axis.kernel;
  return size;
}

// The offset of an element when the first spatial axis is the fastest one.
int64_t ColumnMajorOffset(absl::Span<const WindowAxis> axes, int64_t offset) {
  int64_t result = 0;
  for (size_t i = axes.size(); i-- > 0;) {
    int64_t stride = 1;
    for (size_t j = 0; j < i; ++j) stride *= axes[j].input;
    result += offset % axes[i].input * stride;
    offset /= axes[i].input;
  }
  return result;
}

template <typename T>
class Pool : public Kernel {
 public:
  explicit Pool(PoolAttributes attributes) : attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g, PoolDims(attributes_, context.input_dims(0)));
    for (int i = 0; i < context.num_outputs(); ++i) context.SetOutput(i, g.output);
    *context.NewState<PoolState>() = KeepGeometry(context, g);
    return absl::OkStatus();
  }

 protected:
  // Calls body(plane, position) for every output, in parallel.
  template <typename F>
  static void ForEachOutput(const RunContext& context, const F& body) {
    const auto& s = context.state<PoolState>();
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / WindowSize(s.axes));
    context.ParallelFor(s.planes * s.output_size, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i / s.output_size, i % s.output_size);
    });
  }

  PoolAttributes attributes_;
};

template <typename T>
class MaxPool : public Pool<T> {
 public:
  using Pool<T>::Pool;
  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<PoolState>();
    const T* x = context.in<T>(0);
    T* y = context.out<T>(0);
    int64_t* indices = context.has_output(1) ? context.out<int64_t>(1) : nullptr;
    this->ForEachOutput(context, [&](int64_t plane, int64_t position) {
      const T* image = x + plane * s.input_size;
      T best = Lowest();
      int64_t where = -1;
      VisitWindow(s.axes, position, [&](int64_t offset) {
        const T value = image[offset];
        if (where < 0 || Above(value, best)) {
          best = value;
          where = offset;
        }
      });
      y[plane * s.output_size + position] = best;
      if (indices == nullptr) return;
      if (this->attributes_.column_major && where >= 0) where = ColumnMajorOffset(s.axes, where);
      indices[plane * s.output_size + position] = plane * s.input_size + where;
    });
    return absl::OkStatus();
  }

 private:
  static T Lowest() {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::lowest();
    return static_cast<T>(-std::numeric_limits<Wide<T>>::infinity());
  }
  // NaN is above everything, as in NumPy's and PyTorch's maximum.
  static bool Above(T value, T best) {
    if constexpr (std::is_integral_v<T>) return value > best;
    const Wide<T> v = value, b = best;
    return v > b || (std::isnan(v) && !std::isnan(b));
  }
};

template <typename T>
class AveragePool : public Pool<T> {
 public:
  using Pool<T>::Pool;
  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<PoolState>();
    const T* x = context.in<T>(0);
    T* y = context.out<T>(0);
    this->ForEachOutput(context, [&](int64_t plane, int64_t position) {
      const T* image = x + plane * s.input_size;
      Wide<T> sum = 0;
      int64_t count = 0;
      VisitWindow(s.axes, position, [&](int64_t offset) {
        sum += static_cast<Wide<T>>(image[offset]);
        ++count;
      });
      if (this->attributes_.count_include_pad) count = PaddedCount(s.axes, position);
      y[plane * s.output_size + position] =
          static_cast<T>(count == 0 ? Wide<T>(0) : sum / static_cast<Wide<T>>(count));
    });
    return absl::OkStatus();
  }
};

template <typename T>
class LpPool : public Pool<T> {
 public:
  using Pool<T>::Pool;
  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<PoolState>();
    const T* x = context.in<T>(0);
    T* y = context.out<T>(0);
    this->ForEachOutput(context, [&](int64_t plane, int64_t position) {
      const T* image = x + plane * s.input_size;
      Wide<T> sum = 0;
      VisitWindow(s.axes, position, [&](int64_t offset) {
        sum += PowerOf(static_cast<Wide<T>>(image[offset]), this->attributes_.p);
      });
      y[plane * s.output_size + position] = static_cast<T>(RootOf(sum, this->attributes_.p));
    });
    return absl::OkStatus();
  }
};

struct GlobalState {
  int64_t planes, size;
};

enum class GlobalKind { kAverage, kMax, kLp };

template <typename T>
class GlobalPool : public Kernel {
 public:
  GlobalPool(GlobalKind kind, int64_t p) : kind_(kind), p_(p) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0);
    ONWARD_ASSIGN_OR_RETURN(const Dims output, GlobalPoolDims(x));
    context.SetOutput(0, output);
    *context.NewState<GlobalState>() = {x[0] * x[1], NumElements(x.subspan(2))};
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<GlobalState>();
    const T* x = context.in<T>(0);
    T* y = context.out<T>(0);
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / (s.size + 1));
    context.ParallelFor(s.planes, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(Reduce(x + i * s.size, s.size));
    });
    return absl::OkStatus();
  }

 private:
  Wide<T> Reduce(const T* x, int64_t size) const {
    using W = Wide<T>;
    if (kind_ == GlobalKind::kMax) {
      W best = -std::numeric_limits<W>::infinity();
      for (int64_t i = 0; i < size; ++i) {
        const W value = x[i];
        if (value > best || std::isnan(value)) best = value;
        if (std::isnan(value)) return value;
      }
      return best;
    }
    if (kind_ == GlobalKind::kLp) {
      W sum = 0;
      for (int64_t i = 0; i < size; ++i) sum += PowerOf(static_cast<W>(x[i]), p_);
      return RootOf(sum, p_);
    }
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += static_cast<double>(static_cast<W>(x[i]));
    return static_cast<W>(sum / static_cast<double>(size));
  }

  GlobalKind kind_;
  int64_t p_;
};

template <template <typename> class K, typename Types>
absl::StatusOr<std::unique_ptr<Kernel>> MakePool(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const PoolAttributes attributes, PoolAttributes::Parse(spec));
  if (attributes.window.kernel.size() > kMaxAxes)
    return absl::UnimplementedError(absl::StrCat("pools of more than ", kMaxAxes, " axes"));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(Types(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<K<typename decltype(tag)::type>>(attributes);
  });
  if (kernel == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("dtype ", std::string(DTypeName(spec.input_dtype(0)))));
  }
  return kernel;
}

template <GlobalKind kKind>
absl::StatusOr<std::unique_ptr<Kernel>> MakeGlobalPool(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t p, LpPoolPower(spec));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<GlobalPool<typename decltype(tag)::type>>(kKind, p);
  });
  if (kernel == nullptr)
    return absl::UnimplementedError("global pools take floating-point tensors");
  return kernel;
}

using MaxPoolTypes = Concat<FloatTypes, TypeList<int8_t, uint8_t>>;

constexpr KernelEntry kKernels[] = {
    {"", "MaxPool", "max_pool_reference", MakePool<MaxPool, MaxPoolTypes>},
    {"", "AveragePool", "average_pool_reference", MakePool<AveragePool, FloatTypes>},
    {"", "LpPool", "lp_pool_reference", MakePool<LpPool, FloatTypes>},
    {"", "GlobalAveragePool", "global_average_pool_reference",
     MakeGlobalPool<GlobalKind::kAverage>},
    {"", "GlobalMaxPool", "global_max_pool_reference", MakeGlobalPool<GlobalKind::kMax>},
    {"", "GlobalLpPool", "global_lp_pool_reference", MakeGlobalPool<GlobalKind::kLp>},
};

}  // namespace

KernelList ReferencePool() { return kKernels; }

}  // namespace onward::kernels::cpu
