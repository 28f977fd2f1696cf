// Gather, GatherElements, GatherND. Indices lie on the device, where the kernels check them; those
// that the graph holds are checked when they are bound.
#include <optional>
#include <utility>

#include "kernels/bind/gather.h"
#include "kernels/bind/indices.h"
#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

// Rows of `inner` chunks; see GatherSizes.
template <typename Chunk, typename Index>
__global__ void GatherRows(const Chunk* data, const Index* indices, Chunk* out, GatherSizes sizes,
                           DeviceFaultSite fault) {
  const int64_t all = sizes.outer * sizes.count * sizes.inner;
  for (int64_t i = GlobalIndex(); i < all; i += GlobalSize()) {
    const int64_t row = i / sizes.inner, outer = row / sizes.count;
    const int64_t position = row - outer * sizes.count;
    const int64_t at = CheckedIndex(fault, position, indices[position], sizes.dim);
    if (at < 0) continue;
    out[i] = data[(outer * sizes.dim + at) * sizes.inner + (i - row * sizes.inner)];
  }
}

class Gather : public Kernel {
 public:
  // `constant`: the indices where the graph holds them.
  Gather(int64_t axis, std::optional<Tensor> constant)
      : axis_(axis), constant_(std::move(constant)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindGather(context, axis_));
    if (!constant_) return absl::OkStatus();
    return CheckIndices(constant_->view(), *static_cast<const GatherSizes*>(context.state()));
  }
  absl::Status Run(RunContext& context) const override {
    GatherSizes sizes = context.state<GatherSizes>();
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const int64_t bytes = sizes.inner * BitSize(context.input(0).dtype) / 8;
    const uint64_t alignment = static_cast<uint64_t>(bytes) | AlignmentOf(context.input(0).data) |
                               AlignmentOf(context.output(0).data);
    return DispatchChunk(alignment, [&](auto chunk) {
      using Chunk = decltype(chunk);
      sizes.inner = bytes / static_cast<int64_t>(sizeof(Chunk));
      const unsigned blocks = Blocks(sizes.outer * sizes.count * sizes.inner);
      const Chunk* data = context.in<Chunk>(0);
      Chunk* out = context.out<Chunk>(0);
      const DeviceFaultSite fault = context.services()->device_fault();
      if (context.input(1).dtype == DType::kInt32) {
        return Launch(GatherRows<Chunk, int32_t>, blocks, kThreads, 0, StreamOf(context), data,
                      context.in<int32_t>(1), out, sizes, fault);
      }
      return Launch(GatherRows<Chunk, int64_t>, blocks, kThreads, 0, StreamOf(context), data,
                    context.in<int64_t>(1), out, sizes, fault);
    });
  }

 private:
  static absl::Status CheckIndices(const TensorView& indices, const GatherSizes& sizes) {
    if (sizes.outer == 0 || sizes.inner == 0) return absl::OkStatus();
    for (int64_t i = 0; i < sizes.count; ++i) {
      if (Wrapped(IndexAt(indices, i), sizes.dim) < 0) return BadIndex(indices, i, sizes.dim);
    }
    return absl::OkStatus();
  }

  int64_t axis_;
  std::optional<Tensor> constant_;
};

constexpr int kMostAxes = 12;

// A place in data for each element of the indices: their dims and the strides of data, the last
// axis first, but for `axis`, which the index decides.
struct ElementsBox {
  int rank = 0, axis = 0;
  int64_t dims[kMostAxes] = {}, strides[kMostAxes] = {};
  int64_t size = 0;  // of data along the axis
};

template <typename T, typename Index>
__global__ void GatherElementsLoop(const T* data, const Index* indices, T* out, int64_t count,
                                   ElementsBox box, DeviceFaultSite fault) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t along = CheckedIndex(fault, i, indices[i], box.size);
    if (along < 0) continue;
    int64_t rest = i, at = 0;
    for (int d = 0; d < box.rank; ++d) {
      const int64_t above = rest / box.dims[d];
      at += (d == box.axis ? along : rest - above * box.dims[d]) * box.strides[d];
      rest = above;
    }
    out[i] = data[at];
  }
}

class GatherElements : public Kernel {
 public:
  explicit GatherElements(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindGatherElements(context, axis_));
    if (context.input_dims(0).size() <= kMostAxes) return absl::OkStatus();
    return absl::UnimplementedError("more axes than the device's GatherElements takes");
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.output(0).num_elements();
    if (count == 0) return absl::OkStatus();
    const auto& plan = context.state<GatherElementsPlan>();
    const TensorView &data = context.input(0), &indices = context.input(1);
    ElementsBox box;
    box.rank = static_cast<int>(data.rank());
    box.axis = box.rank - 1 - static_cast<int>(plan.axis);
    box.size = data.dim(plan.axis);
    for (int d = 0; d < box.rank; ++d) {
      box.dims[d] = indices.dim(box.rank - 1 - d);
      box.strides[d] = plan.strides[box.rank - 1 - d];
    }
    const DeviceFaultSite fault = context.services()->device_fault();
    return DispatchChunk(static_cast<uint64_t>(BitSize(data.dtype) / 8), [&](auto chunk) {
      using T = decltype(chunk);
      if (indices.dtype == DType::kInt32) {
        return Launch(GatherElementsLoop<T, int32_t>, Blocks(count), kThreads, 0, StreamOf(context),
                      context.in<T>(0), context.in<int32_t>(1), context.out<T>(0), count, box,
                      fault);
      }
      return Launch(GatherElementsLoop<T, int64_t>, Blocks(count), kThreads, 0, StreamOf(context),
                    context.in<T>(0), context.in<int64_t>(1), context.out<T>(0), count, box, fault);
    });
  }

 private:
  int64_t axis_;
};

// GatherNDPlan with what it points at.
struct RowsBox {
  int depth = 0;
  int64_t rows_per_batch = 0, batch_stride = 0, inner = 0, rows = 0;
  int64_t dims[kMostAxes] = {}, strides[kMostAxes] = {};
};

template <typename T>
__global__ void GatherNDLoop(const T* data, const int64_t* indices, T* out, RowsBox box,
                             DeviceFaultSite fault) {
  const int64_t count = box.rows * box.inner;
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t row = i / box.inner;
    int64_t from = row / box.rows_per_batch * box.batch_stride + (i - row * box.inner);
    bool fits = true;
    for (int d = 0; d < box.depth && fits; ++d) {
      const int64_t position = row * box.depth + d;
      const int64_t at = CheckedIndex(fault, position, indices[position], box.dims[d]);
      fits = at >= 0;
      from += at * box.strides[d];
    }
    if (fits) out[i] = data[from];
  }
}

class GatherND : public Kernel {
 public:
  explicit GatherND(int64_t batch_dims) : batch_dims_(batch_dims) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindGatherND(context, batch_dims_));
    if (context.input_dims(0).size() <= kMostAxes) return absl::OkStatus();
    return absl::UnimplementedError("more axes than the device's GatherND takes");
  }
  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const auto& plan = context.state<GatherNDPlan>();
    RowsBox box;
    box.depth = static_cast<int>(plan.depth);
    box.rows_per_batch = plan.rows_per_batch;
    box.batch_stride = plan.batch_stride;
    box.inner = plan.inner;
    box.rows = plan.rows;
    for (int d = 0; d < box.depth; ++d) {
      box.dims[d] = plan.dims[d];
      box.strides[d] = plan.strides[d];
    }
    const auto bytes = static_cast<uint64_t>(BitSize(context.input(0).dtype) / 8);
    return DispatchChunk(bytes, [&](auto chunk) {
      using T = decltype(chunk);
      return Launch(GatherNDLoop<T>, Blocks(box.rows * box.inner), kThreads, 0, StreamOf(context),
                    context.in<T>(0), context.in<int64_t>(1), context.out<T>(0), box,
                    context.services()->device_fault());
    });
  }

 private:
  int64_t batch_dims_;
};

// Elements are moved as bytes.
absl::Status CheckElements(DType dtype) {
  return dtype == DType::kString || BitSize(dtype) % 8 != 0 ? NoLoopFor(dtype) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGather(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckElements(spec.input_dtype(0)));
  const Tensor* constant = spec.constant(1);
  return std::make_unique<Gather>(spec.attributes().Int("axis", 0),
                                  constant == nullptr ? std::nullopt : std::optional(*constant));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGatherElements(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckElements(spec.input_dtype(0)));
  return std::make_unique<GatherElements>(spec.attributes().Int("axis", 0));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGatherND(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckElements(spec.input_dtype(0)));
  const int64_t batch_dims = spec.attributes().Int("batch_dims", 0);
  if (batch_dims < 0)
    return absl::UnimplementedError("batch_dims is negative");  // the host's kernel says more
  return std::make_unique<GatherND>(batch_dims);
}

constexpr KernelEntry kKernels[] = {
    {"", "Gather", "gather_cuda", MakeGather},
    {"", "GatherElements", "gather_elements_cuda", MakeGatherElements},
    {"", "GatherND", "gather_nd_cuda", MakeGatherND},
};

}  // namespace

KernelList GatherKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
