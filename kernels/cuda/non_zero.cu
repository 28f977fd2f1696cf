// NonZero and Compress, whose sizes depend on data: blocks count what they keep of their part, the
// host reads the sum, and each block writes behind what those before it keep.
#include <algorithm>
#include <optional>

#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"
#include "onward/shape.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kMostAxes = 12;

// Elements in parts of as many blocks as one block has threads.
struct Parts {
  int64_t count, blocks, part;

  explicit Parts(int64_t elements) : count(elements) {
    const int64_t steps = (count + kThreads - 1) / kThreads;
    part = (steps + kThreads - 1) / kThreads * kThreads;
    blocks = part == 0 ? 0 : (count + part - 1) / part;
  }
};
// Bytes of the counts of blocks, behind which their sum stands.
constexpr int64_t kCountBytes = (kThreads + 1) * sizeof(int64_t);

template <typename T>
__device__ bool IsKept(T element) {
  return Load(element) != 0;
}

template <typename T>
__global__ void CountKept(const T* x, Parts parts, int64_t* counts) {
  const int64_t begin = blockIdx.x * parts.part;
  const int64_t end = begin + parts.part < parts.count ? begin + parts.part : parts.count;
  int64_t kept = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) kept += IsKept(x[i]) ? 1 : 0;
  kept = CombineBlock<functors::Add>(kept);
  if (threadIdx.x == 0) counts[blockIdx.x] = kept;
}

// Makes each count the sum of those before it; the sum of all stands at counts[kThreads].
__global__ void AddCounts(int64_t* counts, int64_t blocks) {
  __shared__ int64_t of_block[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  of_block[thread] = thread < blocks ? counts[thread] : 0;
  __syncthreads();
  int64_t before = 0;
  for (int i = 0; i < thread; ++i) before += of_block[i];
  if (thread < blocks) counts[thread] = before;
  if (thread == kThreads - 1) counts[kThreads] = before + of_block[thread];
}

// Calls write(i, place) for each element i that is kept, `place` of which are kept before it.
template <typename T, typename Write>
__device__ void VisitKept(const T* x, const Parts& parts, const int64_t* counts, Write write) {
  const int64_t begin = blockIdx.x * parts.part;
  int64_t place = counts[blockIdx.x];
  for (int64_t first = begin; first < begin + parts.part; first += kThreads) {
    const int64_t i = first + threadIdx.x;
    const bool kept = i < parts.count && IsKept(x[i]);
    const Ranked rank = RankInBlock(kept);
    if (kept) write(i, place + rank.before);
    place += rank.all;
  }
}

struct NonZeroAxes {
  int rank;
  int64_t dims[kMostAxes];
};

// `indices`: [axis][kept].
template <typename T>
__global__ void WriteIndices(const T* x, Parts parts, const int64_t* counts,
                             const __grid_constant__ NonZeroAxes axes, int64_t* indices) {
  const int64_t kept = counts[kThreads];
  VisitKept(x, parts, counts, [&](int64_t i, int64_t place) {
    int64_t rest = i;
    for (int axis = axes.rank - 1; axis >= 0; --axis) {
      const int64_t above = axis == 0 ? 0 : rest / axes.dims[axis];
      indices[axis * kept + place] = rest - above * axes.dims[axis];
      rest = above;
    }
  });
}

// Places beyond the axis are noted, and are 0.
__global__ void WritePlaces(const bool* condition, Parts parts, const int64_t* counts, int64_t dim,
                            int64_t* places, DeviceFaultSite fault) {
  VisitKept(condition, parts, counts, [&](int64_t i, int64_t place) {
    if (i >= dim) ReportBadIndex(fault, i, i, dim);
    places[place] = i < dim ? i : 0;
  });
}

template <typename Chunk>
__global__ void CopyKept(const Chunk* x, Chunk* y, const int64_t* places, int64_t count,
                         int64_t kept, int64_t dim, int64_t inner) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t row = i / inner, outer = row / kept;
    y[i] = x[(outer * dim + places[row - outer * kept]) * inner + (i - row * inner)];
  }
}

template <typename T>
absl::StatusOr<int64_t> Count(const RunContext& context, const T* x, const Parts& parts,
                              int64_t* counts) {
  cudaStream_t stream = StreamOf(context);
  if (parts.blocks == 0) return 0;
  ONWARD_RETURN_IF_ERROR(Launch(CountKept<T>, static_cast<unsigned>(parts.blocks), kThreads, 0,
                                stream, x, parts, counts));
  ONWARD_RETURN_IF_ERROR(Launch(AddCounts, 1, kThreads, 0, stream, counts, parts.blocks));
  int64_t kept = 0;
  ONWARD_RETURN_IF_ERROR(ToStatus(
      cudaMemcpyAsync(&kept, counts + kThreads, sizeof(kept), cudaMemcpyDeviceToHost, stream)));
  ONWARD_RETURN_IF_ERROR(ToStatus(cudaStreamSynchronize(stream)));
  return kept;
}

class NonZero : public Kernel {
 public:
  using RunTyped = absl::Status (*)(RunContext& context);
  explicit NonZero(RunTyped run) : run_(run) {}
  absl::Status Bind(BindContext& context) const override {
    if (context.input_dims(0).size() > kMostAxes)
      return absl::UnimplementedError("more axes than the device takes; use --provider cpu");
    context.SetOutputAtRun(0);
    context.SetScratch(kCountBytes);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override { return run_(context); }
  bool copies_host_memory() const override { return true; }

 private:
  RunTyped run_;
};

template <typename T>
absl::Status RunNonZero(RunContext& context) {
  const TensorView& in = context.input(0);
  const Parts parts(in.num_elements());
  NonZeroAxes axes = {static_cast<int>(in.rank()), {}};
  std::copy(in.dims.begin(), in.dims.end(), axes.dims);
  const T* x = in.as<const T>();
  int64_t* counts = context.scratch<int64_t>();
  ONWARD_ASSIGN_OR_RETURN(const int64_t kept, Count(context, x, parts, counts));
  ONWARD_ASSIGN_OR_RETURN(const TensorView out,
                          context.AllocateOutput(0, DType::kInt64, {axes.rank, kept}));
  if (kept == 0 || axes.rank == 0) return absl::OkStatus();
  return Launch(WriteIndices<T>, static_cast<unsigned>(parts.blocks), kThreads, 0,
                StreamOf(context), x, parts, counts, axes, out.as<int64_t>());
}

class Compress : public Kernel {
 public:
  explicit Compress(std::optional<int64_t> axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    if (axis_)
      ONWARD_RETURN_IF_ERROR(
          NormalizeAxis(*axis_, static_cast<int64_t>(context.input_dims(0).size())).status());
    context.SetOutputAtRun(0);
    const int64_t places = NumElements(context.input_dims(1));
    context.SetScratch(kCountBytes + places * static_cast<int64_t>(sizeof(int64_t)));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView &in = context.input(0), &condition = context.input(1);
    int64_t dim = in.num_elements(), inner = 1;
    Dims dims(1, 0);
    size_t axis = 0;
    if (axis_) {
      ONWARD_ASSIGN_OR_RETURN(const int64_t normalized, NormalizeAxis(*axis_, in.rank()));
      axis = static_cast<size_t>(normalized);
      dim = in.dims[axis];
      inner = NumElements(in.dims, normalized + 1, in.rank());
      dims.assign(in.dims.begin(), in.dims.end());
    }
    int64_t* counts = context.scratch<int64_t>();
    int64_t* places = counts + kThreads + 1;
    const Parts parts(condition.num_elements());
    const bool* flags = condition.as<const bool>();
    ONWARD_ASSIGN_OR_RETURN(const int64_t kept, Count(context, flags, parts, counts));
    dims[axis] = kept;
    ONWARD_ASSIGN_OR_RETURN(const TensorView out, context.AllocateOutput(0, in.dtype, dims));
    if (kept == 0) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(Launch(WritePlaces, static_cast<unsigned>(parts.blocks), kThreads, 0,
                                  StreamOf(context), flags, parts, counts, dim, places,
                                  context.services()->device_fault()));
    if (out.num_elements() == 0 || dim == 0) return absl::OkStatus();
    return CopyRowsKept(context, out, places, {kept, dim, inner});
  }
  bool copies_host_memory() const override { return true; }

 private:
  struct Sizes {
    int64_t kept, dim, inner;
  };
  static absl::Status CopyRowsKept(const RunContext& context, const TensorView& out,
                                   const int64_t* places, const Sizes& sizes) {
    const TensorView& in = context.input(0);
    const int64_t bytes = sizes.inner * BitSize(in.dtype) / 8;
    const uint64_t alignment =
        static_cast<uint64_t>(bytes) | AlignmentOf(in.data) | AlignmentOf(out.data);
    return DispatchChunk(alignment, [&](auto chunk) {
      using Chunk = decltype(chunk);
      const int64_t inner = bytes / static_cast<int64_t>(sizeof(Chunk));
      const int64_t count = out.byte_size() / static_cast<int64_t>(sizeof(Chunk));
      return Launch(CopyKept<Chunk>, Blocks(count), kThreads, 0, StreamOf(context),
                    static_cast<const Chunk*>(in.data), static_cast<Chunk*>(out.data), places,
                    count, sizes.kept, sizes.dim, inner);
    });
  }

  std::optional<int64_t> axis_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeNonZero(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  NonZero::RunTyped run = nullptr;
  DispatchDType(FloatTypes(), dtype,
                [&](auto tag) { run = RunNonZero<typename decltype(tag)::type>; });
  // Only the size of integers matters.
  using Whole =
      TypeList<bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;
  DispatchDType(Whole(), dtype, [&](auto tag) {
    constexpr size_t kSize = sizeof(typename decltype(tag)::type);
    run = kSize == 1   ? RunNonZero<uint8_t>
          : kSize == 2 ? RunNonZero<uint16_t>
          : kSize == 4 ? RunNonZero<uint32_t>
                       : RunNonZero<uint64_t>;
  });
  if (run == nullptr) return NoLoopFor(dtype);
  return std::make_unique<NonZero>(run);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeCompress(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (dtype == DType::kString || BitSize(dtype) % 8 != 0) return NoLoopFor(dtype);
  std::optional<int64_t> axis;
  if (spec.attributes().Has("axis")) axis = spec.attributes().Int("axis", 0);
  return std::make_unique<Compress>(axis);
}

constexpr KernelEntry kKernels[] = {
    {"", "Compress", "compress_cuda", MakeCompress},
    {"", "NonZero", "non_zero_cuda", MakeNonZero},
};

}  // namespace

KernelList NonZeroKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
