// ScatterElements, ScatterND, TensorScatter: updates written into a copy of the data.
#include "kernels/bind/scatter.h"

#include <atomic>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/bind/tensor_scatter.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/packed.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

// Combine `count` updates from element `update_at` on with elements of the output.
struct Write {
  // With those from `at` on.
  void (*run)(const void* updates, int64_t update_at, void* out, int64_t at,
              int64_t count) = nullptr;
  // With those at `places`, one after another.
  void (*places)(const void* updates, int64_t update_at, void* out, const int64_t* places,
                 int64_t count) = nullptr;
};

template <typename T>
struct Assign {
  static T Apply(const T&, const T& update) { return update; }
};
// Integers wrap; narrow floats round once per update, as the standard's reference does.
template <typename T, bool kMultiply>
T Combine(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, bool>) {
    return kMultiply ? (a && b) : (a || b);
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::conditional_t<(sizeof(T) < 8), uint32_t, uint64_t>;
    return static_cast<T>(kMultiply ? static_cast<U>(a) * static_cast<U>(b)
                                    : static_cast<U>(a) + static_cast<U>(b));
  } else {
    return static_cast<T>(kMultiply ? a * b : a + b);
  }
}
template <typename T>
struct Add {
  static T Apply(const T& a, const T& b) { return Combine<T, false>(a, b); }
};
template <typename T>
struct Multiply {
  static T Apply(const T& a, const T& b) { return Combine<T, true>(a, b); }
};
// NaN wins, as in the standard's reference.
template <typename T>
struct Max {
  static T Apply(const T& a, const T& b) { return a < b || b != b ? b : a; }
};
template <typename T>
struct Min {
  static T Apply(const T& a, const T& b) { return b < a || b != b ? b : a; }
};

template <typename T, template <typename> typename Op>
void WriteRun(const void* updates, int64_t update_at, void* out, int64_t at, int64_t count) {
  const T* from = static_cast<const T*>(updates) + update_at;
  T* to = static_cast<T*>(out) + at;
  if constexpr (std::is_same_v<Op<T>, Assign<T>>) {
    if (count > 1) return CopyRun(from, count, to);
  }
  for (int64_t i = 0; i < count; ++i) to[i] = Op<T>::Apply(to[i], from[i]);
}

template <typename T, template <typename> typename Op>
void WritePlaces(const void* updates, int64_t update_at, void* out, const int64_t* places,
                 int64_t count) {
  const T* from = static_cast<const T*>(updates) + update_at;
  T* to = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[places[i]] = Op<T>::Apply(to[places[i]], from[i]);
}

template <typename T, template <typename> typename Op>
constexpr Write kWrite = {WriteRun<T, Op>, WritePlaces<T, Op>};

absl::StatusOr<Write> WriteFor(const NodeSpec& spec) {
  const std::string reduction = spec.attributes().String("reduction", "none");
  const DType dtype = spec.input_dtype(0);
  if (reduction == "none") {
    return DispatchElement(
        dtype, [](auto tag) -> Write { return kWrite<typename decltype(tag)::type, Assign>; });
  }
  Write write;
  DispatchDType(Concat<NumericTypes, TypeList<bool>>(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (reduction == "add") write = kWrite<T, Add>;
    if (reduction == "mul") write = kWrite<T, Multiply>;
    if (reduction == "max") write = kWrite<T, Max>;
    if (reduction == "min") write = kWrite<T, Min>;
  });
  DispatchDType(ComplexTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (reduction == "add") write = kWrite<T, Add>;
    if (reduction == "mul") write = kWrite<T, Multiply>;
  });
  if (write.run != nullptr) return write;
  return absl::UnimplementedError(
      absl::StrCat("reduction '", reduction, "' of ", std::string(DTypeName(dtype))));
}

absl::Status BadIndex(int64_t index, int64_t position, int64_t dim) {
  return absl::InvalidArgumentError(absl::StrCat("index ", index, " at position ", position,
                                                 " is out of range for an axis of size ", dim));
}

class Scatter : public Kernel {
 public:
  explicit Scatter(Write write) : write_(write) {}

 protected:
  Write write_;
};

// Updates that differ in a coordinate other than the axis's never meet, so threads share out those
// coordinates and each writes its lines in order.
class ScatterElements : public Scatter {
 public:
  ScatterElements(Write write, int64_t axis) : Scatter(write), axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    return BindScatterElements(context, axis_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<ScatterElementsPlan>();
    const TensorView& indices = context.input(1);
    CopyElements(context.input(0), context.output(0));
    const int64_t count = indices.num_elements();
    if (count == 0) return absl::OkStatus();
    const int64_t length = indices.dim(state.axis), inner = state.index_strides[state.axis];
    std::atomic<int64_t> bad{-1};
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 13) / length);
    context.ParallelFor(count / length, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t lines = std::min({kMostLines, end - begin, inner - begin % inner});
        if (const int64_t position = WriteLines(context, state, begin, lines); position >= 0)
          bad.store(position, std::memory_order_relaxed);
        begin += lines;
      }
    });
    if (const int64_t at = bad.load(); at >= 0)
      return BadIndex(IndexAt(indices, at), at, context.input(0).dim(state.axis));
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kMostLines = 256;

  // Writes lines whose indices lie side by side, and returns the position of a bad index, -1 when
  // all are good.
  int64_t WriteLines(const RunContext& context, const ScatterElementsPlan& state, int64_t first,
                     int64_t lines) const {
    const TensorView& indices = context.input(1);
    int64_t bases[kMostLines];
    int64_t position = 0;  // of the first line's first index
    for (int64_t line = 0; line < lines; ++line) {
      int64_t base = 0, rest = first + line;
      for (int64_t i = indices.rank(); i-- > 0;) {
        if (i == state.axis) continue;
        const int64_t at = rest % indices.dim(i);
        rest /= indices.dim(i);
        if (line == 0) position += at * state.index_strides[i];
        base += at * state.strides[i];
      }
      bases[line] = base;
    }
    const int64_t length = indices.dim(state.axis), step = state.index_strides[state.axis];
    if (step == 1) return WriteSome(context, state, position, length, bases, 0);
    for (int64_t i = 0; i < length; ++i, position += step) {
      const int64_t bad = WriteSome(context, state, position, lines, bases, 1);
      if (bad >= 0) return bad;
    }
    return -1;
  }

  // The same for `count` indices from `position` on, of which index i writes to the line at
  // bases[i * base_step].
  int64_t WriteSome(const RunContext& context, const ScatterElementsPlan& state, int64_t position,
                    int64_t count, const int64_t* bases, int64_t base_step) const {
    const TensorView& indices = context.input(1);
    const int64_t dim = context.input(0).dim(state.axis), stride = state.strides[state.axis];
    int64_t places[kMostLines];
    for (int64_t done = 0; done < count;) {
      const int64_t some = std::min(kMostLines, count - done), from = position + done;
      const int64_t good = indices.dtype == DType::kInt32
                               ? FindPlaces(indices.as<int32_t>() + from, dim, stride, bases,
                                            base_step, some, places)
                               : FindPlaces(indices.as<int64_t>() + from, dim, stride, bases,
                                            base_step, some, places);
      write_.places(context.input(2).data, from, context.output(0).data, places, good);
      if (good < some) return from + good;
      done += some;
    }
    return -1;
  }

  // Returns how many indices come before one that is out of range.
  template <typename Index>
  static int64_t FindPlaces(const Index* index, int64_t dim, int64_t stride, const int64_t* bases,
                            int64_t base_step, int64_t count, int64_t* places) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = Wrapped(index[i], dim);
      if (at < 0) return i;
      places[i] = bases[i * base_step] + at * stride;
    }
    return count;
  }
  int64_t axis_;
};

class ScatterND : public Scatter {
 public:
  using Scatter::Scatter;
  absl::Status Bind(BindContext& context) const override { return BindScatterND(context); }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<ScatterNDPlan>();
    const TensorView &data = context.input(0), &indices = context.input(1);
    for (int64_t i = 0; i < state.rows * state.depth; ++i) {
      const int64_t index = indices.as<int64_t>()[i], dim = data.dim(i % state.depth);
      if (Wrapped(index, dim) < 0) return BadIndex(index, i, dim);
    }
    CopyElements(data, context.output(0));
    // Indices may repeat: rows are written in order, and threads share out the inside of a row.
    context.ParallelFor(state.inner, kInnerGrain, [&](int64_t begin, int64_t end) {
      for (int64_t row = 0; row < state.rows; ++row) {
        int64_t at = begin;
        for (int64_t i = 0; i < state.depth; ++i) {
          at +=
              Wrapped(indices.as<int64_t>()[row * state.depth + i], data.dim(i)) * state.strides[i];
        }
        write_.run(context.input(2).data, row * state.inner + begin, context.output(0).data, at,
                   end - begin);
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kInnerGrain = 1 << 13;
};

// Writes a stretch of new positions into a cache, at each batch entry's own place.
class TensorScatter : public Kernel {
 public:
  TensorScatter(int64_t axis, bool circular) : axis_(axis), circular_(circular) {}
  absl::Status Bind(BindContext& context) const override {
    return BindTensorScatter(context, axis_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<TensorScatterSizes>();
    const int64_t batch = state.batch;
    const int64_t* starts = context.has_input(2) ? context.in<int64_t>(2) : nullptr;
    for (int64_t b = 0; starts != nullptr && b < batch; ++b) {
      const int64_t last = circular_ ? state.dim - 1 : state.dim - state.steps;
      if (starts[b] < 0 || (starts[b] > last && state.steps > 0)) {
        return absl::InvalidArgumentError(
            absl::StrCat("write_indices[", b, "] is ", starts[b], ": ", state.steps,
                         " positions do not fit an axis of size ", state.dim, " from there"));
      }
    }
    DispatchElement(context.output(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t rows = state.steps == 0 ? 0 : batch * state.outer;
      // Not CopyElements: elements of packed types are unpacked here.
      if (context.in<T>(0) != context.out<T>(0))
        CopyRun(context.in<T>(0), context.input(0).num_elements(), context.out<T>(0));
      context.ParallelFor(
          rows, std::max<int64_t>(1, CopyGrain<T>() / (state.steps * state.inner + 1)),
          [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
              const int64_t start = starts == nullptr ? 0 : starts[row / state.outer];
              const int64_t run = std::min(state.steps, state.dim - start);
              const T* from = context.in<T>(1) + row * state.steps * state.inner;
              T* to = context.out<T>(0) + row * state.dim * state.inner;
              CopyRun(from, run * state.inner, to + start * state.inner);
              CopyRun(from + run * state.inner, (state.steps - run) * state.inner, to);
            }
          });
    });
    return absl::OkStatus();
  }

 private:
  int64_t axis_;
  bool circular_;
};

Made MakeScatterElements(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const Write write, WriteFor(spec));
  return std::make_unique<ScatterElements>(write, spec.attributes().Int("axis", 0));
}

Made MakeScatterND(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const Write write, WriteFor(spec));
  return std::make_unique<ScatterND>(write);
}

Made MakeTensorScatter(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const bool circular, IsCircular(spec));
  return UnpackedWhereNeeded(
      spec, std::make_unique<TensorScatter>(spec.attributes().Int("axis", -2), circular));
}

constexpr KernelEntry kKernels[] = {
    {"", "ScatterElements", "scatter_elements_reference", MakeScatterElements},
    {"", "ScatterND", "scatter_nd_reference", MakeScatterND},
    {"", "TensorScatter", "tensor_scatter_reference", MakeTensorScatter},
};

}  // namespace

KernelList ReferenceScatter() { return kKernels; }

}  // namespace onward::kernels::cpu
