// ScatterElements and ScatterND. Updates of one place come in the order of their indices, so that
// sums and what an index that repeats leaves do not depend on chance.
#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/binary_functors.h"
#include "kernels/bind/scatter.h"
#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/rows.cuh"

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

// ScatterNDPlan with what it points at. A warp has 32 neighbouring elements of the rows that a part
// of the places takes: parts are a power of two, and a place's is the end of its number.
struct Places {
  int depth = 0;
  int64_t rows = 0, inner = 0, parts = 1;
  int64_t dims[kMostAxes] = {}, strides[kMostAxes] = {};

  __host__ __device__ int64_t chunks() const { return (inner + kWarp - 1) / kWarp; }
};

// The number of each row's place; -1 where there is none.
__global__ void FindPlaces(const int64_t* indices, int64_t* found, Places places,
                           DeviceFaultSite fault) {
  for (int64_t row = GlobalIndex(); row < places.rows; row += GlobalSize()) {
    int64_t at = 0;
    for (int d = 0; d < places.depth && at >= 0; ++d) {
      const int64_t position = row * places.depth + d;
      const int64_t along = CheckedIndex(fault, position, indices[position], places.dims[d]);
      at = along < 0 ? -1 : at + along * places.strides[d];
    }
    found[row] = at < 0 ? -1 : at / places.inner;
  }
}

// One element of `out`, which stays in a register while updates of its place follow each other.
template <typename T, typename Op>
struct HeldElement {
  T* place = nullptr;
  T value;

  __device__ void Apply(T* to, T update) {
    if (to != place) {
      Put();
      place = to;
      value = *to;
    }
    Op::Apply(value, update);
  }
  __device__ void Put() const {
    if (place != nullptr) *place = value;
  }
};

// Lanes look at 32 places at a time, and a warp does the updates of its part in order.
template <typename T, typename Op>
__global__ void ScatterPlaces(const int64_t* found, const T* updates, T* out, Places places) {
  constexpr int kAtOnce = 4;  // updates that are read before the first is applied
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t works = places.chunks() * places.parts;
  for (int64_t i = GlobalIndex() / kWarp; i < works; i += GlobalSize() / kWarp) {
    const int64_t part = i & (places.parts - 1), element = i / places.parts * kWarp + lane;
    const bool inside = element < places.inner;
    HeldElement<T, Op> held;
    for (int64_t first = 0; first < places.rows; first += kWarp) {
      const int64_t place = first + lane < places.rows ? found[first + lane] : -1;
      unsigned rows = __ballot_sync(~0u, place >= 0 && (place & (places.parts - 1)) == part);
      while (rows != 0) {
        T* to[kAtOnce];
        T taken[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
          const int source = rows == 0 ? 0 : __ffs(static_cast<int>(rows)) - 1;
          const int64_t begin = __shfl_sync(~0u, place, source) * places.inner + element;
          to[k] = rows != 0 && inside ? out + begin : nullptr;
          if (to[k] != nullptr) taken[k] = updates[(first + source) * places.inner + element];
          rows &= rows - 1;
        }
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
          if (to[k] != nullptr) held.Apply(to[k], taken[k]);
      }
    }
    held.Put();
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
  auto* found = context.scratch<int64_t>();
  ONWARD_RETURN_IF_ERROR(Launch(FindPlaces, Blocks(places.rows), kThreads, 0, StreamOf(context),
                                context.in<int64_t>(1), found, places,
                                context.services()->device_fault()));
  return Launch(ScatterPlaces<T, Op>, RowBlocks(places.chunks() * places.parts, false), kThreads, 0,
                StreamOf(context), static_cast<const int64_t*>(found), context.in<T>(2),
                context.out<T>(0), places);
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
    if (context.input_dims(0).size() > kMostAxes)
      return absl::UnimplementedError(
          "more axes than the device's ScatterND takes; use --provider cpu");
    if (const auto* plan = static_cast<const ScatterNDPlan*>(context.state()))
      context.SetScratch(plan->rows * static_cast<int64_t>(sizeof(int64_t)));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    ONWARD_RETURN_IF_ERROR(CopyInput(context));
    const auto& plan = context.state<ScatterNDPlan>();
    if (plan.rows == 0 || plan.inner == 0) return absl::OkStatus();
    Places places;
    places.depth = static_cast<int>(plan.depth);
    places.rows = plan.rows;
    places.inner = plan.inner;
    // Enough warps to fill a large device, and a part for each row at most.
    constexpr uint64_t kWarpsWanted = 8192;
    const auto rows = static_cast<uint64_t>(plan.rows),
               chunks = static_cast<uint64_t>(places.chunks());
    places.parts =
        static_cast<int64_t>(std::bit_floor(std::clamp<uint64_t>(kWarpsWanted / chunks, 1, rows)));
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
