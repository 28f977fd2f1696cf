// TensorScatter: new positions of a cache, in place where the executor gives one memory to both.
#include <utility>

#include "kernels/bind/tensor_scatter.h"
#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

// `inner` in chunks; `starts`: where each entry of the batch writes, null for its begin.
template <typename Chunk>
__global__ void WriteSteps(const Chunk* update, const int64_t* starts, Chunk* out,
                           TensorScatterSizes sizes, bool circular, DeviceFaultSite fault) {
  const int64_t line = sizes.steps * sizes.inner, of_entry = sizes.outer * line;
  const int64_t count = sizes.batch * of_entry;
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t entry = i / of_entry, row = i / line, step = (i - row * line) / sizes.inner;
    const int64_t start = starts == nullptr ? 0 : starts[entry];
    if (start < 0 || start > (circular ? sizes.dim - 1 : sizes.dim - sizes.steps)) {
      ReportBadIndex(fault, entry, start, sizes.dim);
      continue;
    }
    const int64_t at = start + step < sizes.dim ? start + step : start + step - sizes.dim;
    out[(row * sizes.dim + at) * sizes.inner + i % sizes.inner] = update[i];
  }
}

class TensorScatter : public Kernel {
 public:
  TensorScatter(int64_t axis, bool circular) : axis_(axis), circular_(circular) {}
  absl::Status Bind(BindContext& context) const override {
    return BindTensorScatter(context, axis_);
  }
  absl::Status Run(RunContext& context) const override {
    cudaStream_t stream = StreamOf(context);
    const TensorView& out = context.output(0);
    if (out.num_elements() == 0) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(CopyInput(context));
    TensorScatterSizes sizes = context.state<TensorScatterSizes>();
    if (sizes.steps == 0) return absl::OkStatus();
    const int64_t* starts = context.has_input(2) ? context.in<int64_t>(2) : nullptr;
    const int64_t bytes = sizes.inner * BitSize(out.dtype) / 8;
    const uint64_t alignment =
        static_cast<uint64_t>(bytes) | AlignmentOf(out.data) | AlignmentOf(context.input(1).data);
    return DispatchChunk(alignment, [&](auto chunk) {
      using Chunk = decltype(chunk);
      sizes.inner = bytes / static_cast<int64_t>(sizeof(Chunk));
      return Launch(WriteSteps<Chunk>,
                    Blocks(sizes.batch * sizes.outer * sizes.steps * sizes.inner), kThreads, 0,
                    stream, context.in<Chunk>(1), starts, context.out<Chunk>(0), sizes, circular_,
                    context.services()->device_fault());
    });
  }

 private:
  int64_t axis_;
  bool circular_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeTensorScatter(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (dtype == DType::kString || BitSize(dtype) % 8 != 0) return NoLoopFor(dtype);
  ONWARD_ASSIGN_OR_RETURN(const bool circular, IsCircular(spec));
  return std::make_unique<TensorScatter>(spec.attributes().Int("axis", -2), circular);
}

constexpr KernelEntry kKernels[] = {
    {"", "TensorScatter", "tensor_scatter_cuda", MakeTensorScatter}};

}  // namespace

KernelList TensorScatterKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
