// Gather: the indices are checked on the host, where an error can name one. Those that the graph
// holds lie on the device, too; others are sent along.
#include <optional>
#include <utility>

#include "kernels/bind/gather.h"
#include "kernels/bind/indices.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

// Rows of `inner` chunks; see GatherSizes.
template <typename Chunk, typename Index>
__global__ void GatherRows(const Chunk* data, const Index* indices, Chunk* out, GatherSizes sizes) {
  const int64_t all = sizes.outer * sizes.count * sizes.inner;
  for (int64_t i = GlobalIndex(); i < all; i += GlobalSize()) {
    const int64_t row = i / sizes.inner, outer = row / sizes.count;
    const int64_t index = indices[row - outer * sizes.count];
    const int64_t from = outer * sizes.dim + (index < 0 ? index + sizes.dim : index);
    out[i] = data[from * sizes.inner + (i - row * sizes.inner)];
  }
}

template <typename Chunk>
absl::Status LaunchGather(const RunContext& context, const GatherSizes& sizes,
                          const void* indices) {
  auto* stream = static_cast<cudaStream_t>(context.services()->stream());
  const unsigned blocks = Blocks(sizes.outer * sizes.count * sizes.inner);
  const Chunk* data = context.in<Chunk>(0);
  Chunk* out = context.out<Chunk>(0);
  if (context.input(1).dtype == DType::kInt32) {
    return Launch(GatherRows<Chunk, int32_t>, blocks, kThreads, 0, stream, data,
                  static_cast<const int32_t*>(indices), out, sizes);
  }
  return Launch(GatherRows<Chunk, int64_t>, blocks, kThreads, 0, stream, data,
                static_cast<const int64_t*>(indices), out, sizes);
}

class Gather : public Kernel {
 public:
  // `constant`: the indices where the graph holds them.
  Gather(int64_t axis, std::optional<Tensor> constant)
      : axis_(axis), constant_(std::move(constant)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindGather(context, axis_));
    if (constant_)
      return CheckIndices(constant_->view(), *static_cast<const GatherSizes*>(context.state()));
    context.SetScratch(NumElements(context.input_dims(1)) * BitSize(context.input_dtype(1)) / 8);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    GatherSizes sizes = context.state<GatherSizes>();
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    if (constant_) return Move(context, sizes, context.input(1).data);
    const TensorView& indices = context.input(1);
    ONWARD_RETURN_IF_ERROR(CheckIndices(indices, sizes));
    ONWARD_RETURN_IF_ERROR(ToStatus(cudaMemcpyAsync(
        context.scratch<void>(), indices.data, static_cast<size_t>(indices.byte_size()),
        cudaMemcpyHostToDevice, static_cast<cudaStream_t>(context.services()->stream()))));
    return Move(context, sizes, context.scratch<void>());
  }
  uint64_t host_inputs() const override { return constant_ ? 0 : 2; }
  bool copies_host_memory() const override { return !constant_; }

 private:
  static absl::Status CheckIndices(const TensorView& indices, const GatherSizes& sizes) {
    if (sizes.outer == 0 || sizes.inner == 0) return absl::OkStatus();
    for (int64_t i = 0; i < sizes.count; ++i) {
      if (Wrapped(IndexAt(indices, i), sizes.dim) < 0) return BadIndex(indices, i, sizes.dim);
    }
    return absl::OkStatus();
  }
  // By the largest chunk that rows and addresses are multiples of.
  static absl::Status Move(const RunContext& context, GatherSizes sizes, const void* indices) {
    const int64_t bytes = sizes.inner * BitSize(context.input(0).dtype) / 8;
    const auto bits = static_cast<uint64_t>(bytes) |
                      reinterpret_cast<uintptr_t>(context.input(0).data) |
                      reinterpret_cast<uintptr_t>(context.output(0).data);
    if (bits % 16 == 0) return LaunchGather<uint4>(context, Rows(sizes, bytes / 16), indices);
    if (bits % 8 == 0) return LaunchGather<uint64_t>(context, Rows(sizes, bytes / 8), indices);
    if (bits % 4 == 0) return LaunchGather<uint32_t>(context, Rows(sizes, bytes / 4), indices);
    if (bits % 2 == 0) return LaunchGather<uint16_t>(context, Rows(sizes, bytes / 2), indices);
    return LaunchGather<uint8_t>(context, Rows(sizes, bytes), indices);
  }
  static GatherSizes Rows(GatherSizes sizes, int64_t chunks) {
    sizes.inner = chunks;
    return sizes;
  }

  int64_t axis_;
  std::optional<Tensor> constant_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeGather(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (dtype == DType::kString || BitSize(dtype) % 8 != 0) return NoLoopFor(dtype);
  const Tensor* constant = spec.constant(1);
  return std::make_unique<Gather>(spec.attributes().Int("axis", 0),
                                  constant == nullptr ? std::nullopt : std::optional(*constant));
}

constexpr KernelEntry kKernels[] = {{"", "Gather", "gather_cuda", MakeGather}};

}  // namespace

KernelList GatherKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
