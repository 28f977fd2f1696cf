// ScatterElements and ScatterND. Updates of one place come in the order of their indices, so that
// sums and what an index that repeats leaves do not depend on chance.
#include <algorithm>
#include <utility>

#include "kernels/binary_functors.h"
#include "kernels/bind/scatter.h"
#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

constexpr int kMostAxes = 12;

struct Assign {
  template <typename T>
  __device__ static void Apply(T& place, T update) {
    place = update;
  }
};

template <typename Functor>
struct Reduce {
  template <typename T>
  __device__ static void Apply(T& place, T update) {
    place = Rounded<T>(Functor()(Load(place), Load(update)));
  }
};

// Lines of indices along the axis, whose updates never meet: dims and strides of all other axes,
// the last first.
struct Lines {
  int64_t count = 0, length = 0, step = 0;  // of a line: indices, and how far apart
  int64_t size = 0, stride = 0;             // of data along the axis
  int rank = 0;
  int64_t dims[kMostAxes] = {}, strides[kMostAxes] = {}, index_strides[kMostAxes] = {};
};

template <typename T, typename Op, typename Index>
__global__ void ScatterLines(const Index* indices, const T* updates, T* out, Lines lines,
                             DeviceFaultSite fault) {
  for (int64_t i = GlobalIndex(); i < lines.count; i += GlobalSize()) {
    int64_t rest = i, position = 0, base = 0;
    for (int d = 0; d < lines.rank; ++d) {
      const int64_t above = rest / lines.dims[d], at = rest - above * lines.dims[d];
      position += at * lines.index_strides[d];
      base += at * lines.strides[d];
      rest = above;
    }
    for (int64_t k = 0; k < lines.length; ++k, position += lines.step) {
      const int64_t at = CheckedIndex(fault, position, indices[position], lines.size);
      if (at >= 0) Op::Apply(out[base + at * lines.stride], updates[position]);
    }
  }
}

// ScatterNDPlan with what it points at. A thread has one element of the rows that a part of the
// places takes: it looks at all indices, in order, and leaves those of other parts alone.
struct Places {
  int depth = 0;
  int64_t rows = 0, inner = 0, parts = 1;
  int64_t dims[kMostAxes] = {}, strides[kMostAxes] = {};
};

template <typename T, typename Op>
__global__ void ScatterPlaces(const int64_t* indices, const T* updates, T* out, Places places,
                              DeviceFaultSite fault) {
  const int64_t count = places.inner * places.parts;
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t part = i / places.inner, element = i - part * places.inner;
    for (int64_t row = 0; row < places.rows; ++row) {
      int64_t at = 0;
      bool fits = true;
      for (int d = 0; d < places.depth && fits; ++d) {
        const int64_t position = row * places.depth + d;
        const int64_t along = CheckedIndex(fault, position, indices[position], places.dims[d]);
        fits = along >= 0;
        at += along * places.strides[d];
      }
      if (!fits || at / places.inner % places.parts != part) continue;
      Op::Apply(out[at + element], updates[row * places.inner + element]);
    }
  }
}

struct Loops {
  absl::Status (*lines)(const RunContext& context, const Lines& lines);
  absl::Status (*places)(const RunContext& context, const Places& places);
};

template <typename T, typename Op>
absl::Status LaunchLines(const RunContext& context, const Lines& lines) {
  const DeviceFaultSite fault = context.services()->device_fault();
  if (context.input(1).dtype == DType::kInt32) {
    return Launch(ScatterLines<T, Op, int32_t>, Blocks(lines.count), kThreads, 0, StreamOf(context),
                  context.in<int32_t>(1), context.in<T>(2), context.out<T>(0), lines, fault);
  }
  return Launch(ScatterLines<T, Op, int64_t>, Blocks(lines.count), kThreads, 0, StreamOf(context),
                context.in<int64_t>(1), context.in<T>(2), context.out<T>(0), lines, fault);
}

template <typename T, typename Op>
absl::Status LaunchPlaces(const RunContext& context, const Places& places) {
  return Launch(ScatterPlaces<T, Op>, Blocks(places.inner * places.parts), kThreads, 0,
                StreamOf(context), context.in<int64_t>(1), context.in<T>(2), context.out<T>(0),
                places, context.services()->device_fault());
}

template <typename T, typename Op>
constexpr Loops LoopsOf() {
  return {LaunchLines<T, Op>, LaunchPlaces<T, Op>};
}

absl::StatusOr<Loops> FindLoops(const NodeSpec& spec) {
  const std::string reduction = spec.attributes().String("reduction", "none");
  const DType dtype = spec.input_dtype(0);
  if (dtype == DType::kString || BitSize(dtype) % 8 != 0) return NoLoopFor(dtype);
  if (reduction == "none") {
    switch (BitSize(dtype)) {
      case 8:
        return LoopsOf<uint8_t, Assign>();
      case 16:
        return LoopsOf<uint16_t, Assign>();
      case 32:
        return LoopsOf<uint32_t, Assign>();
      case 64:
        return LoopsOf<uint64_t, Assign>();
      default:
        return NoLoopFor(dtype);
    }
  }
  absl::StatusOr<Loops> loops = NoLoopFor(dtype);
  using Types = TypeList<float, double, Float16, BFloat16, int32_t, int64_t>;
  DispatchDType(Types(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (reduction == "add") loops = LoopsOf<T, Reduce<functors::Add>>();
    if (reduction == "mul") loops = LoopsOf<T, Reduce<functors::Mul>>();
    if (reduction == "max") loops = LoopsOf<T, Reduce<functors::Max>>();
    if (reduction == "min") loops = LoopsOf<T, Reduce<functors::Min>>();
  });
  return loops;
}

class ScatterElements : public Kernel {
 public:
  ScatterElements(Loops loops, int64_t axis) : loops_(loops), axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindScatterElements(context, axis_));
    if (context.input_dims(0).size() <= kMostAxes) return absl::OkStatus();
    return absl::UnimplementedError(
        "more axes than the device's ScatterElements takes; use --provider cpu");
  }
  absl::Status Run(RunContext& context) const override {
    ONWARD_RETURN_IF_ERROR(CopyInput(context));
    const TensorView &data = context.input(0), &indices = context.input(1);
    if (indices.num_elements() == 0) return absl::OkStatus();
    const auto& plan = context.state<ScatterElementsPlan>();
    Lines lines;
    lines.length = indices.dim(plan.axis);
    lines.count = indices.num_elements() / lines.length;
    lines.step = plan.index_strides[plan.axis];
    lines.size = data.dim(plan.axis);
    lines.stride = plan.strides[plan.axis];
    for (int64_t axis = indices.rank(); axis-- > 0;) {
      if (axis == plan.axis) continue;
      lines.dims[lines.rank] = indices.dim(axis);
      lines.strides[lines.rank] = plan.strides[axis];
      lines.index_strides[lines.rank++] = plan.index_strides[axis];
    }
    return loops_.lines(context, lines);
  }

 private:
  Loops loops_;
  int64_t axis_;
};

class ScatterND : public Kernel {
 public:
  explicit ScatterND(Loops loops) : loops_(loops) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindScatterND(context));
    if (context.input_dims(0).size() <= kMostAxes) return absl::OkStatus();
    return absl::UnimplementedError(
        "more axes than the device's ScatterND takes; use --provider cpu");
  }
  absl::Status Run(RunContext& context) const override {
    ONWARD_RETURN_IF_ERROR(CopyInput(context));
    const auto& plan = context.state<ScatterNDPlan>();
    if (plan.rows == 0 || plan.inner == 0) return absl::OkStatus();
    Places places;
    places.depth = static_cast<int>(plan.depth);
    places.rows = plan.rows;
    places.inner = plan.inner;
    // Enough threads to fill a large device, and a part for each row at most.
    constexpr int64_t kThreadsWanted = int64_t{1} << 17;
    places.parts = std::clamp<int64_t>(kThreadsWanted / plan.inner, 1, plan.rows);
    for (int d = 0; d < places.depth; ++d) {
      places.dims[d] = plan.dims[d];
      places.strides[d] = plan.strides[d];
    }
    return loops_.places(context, places);
  }

 private:
  Loops loops_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeScatterElements(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const Loops loops, FindLoops(spec));
  return std::make_unique<ScatterElements>(loops, spec.attributes().Int("axis", 0));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeScatterND(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const Loops loops, FindLoops(spec));
  return std::make_unique<ScatterND>(loops);
}

constexpr KernelEntry kKernels[] = {
    {"", "ScatterElements", "scatter_elements_cuda", MakeScatterElements},
    {"", "ScatterND", "scatter_nd_cuda", MakeScatterND},
};

}  // namespace

KernelList ScatterKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
