// Trilu and ReverseSequence, by element size.
#include "kernels/bind/reverse_sequence.h"
#include "kernels/bind/trilu.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

struct Triangle {
  int64_t count, rows, columns, k;
  bool upper;
};

// A thread reads only what it writes, so that `out` may be `in`.
template <typename T>
__global__ void TriluLoop(const T* in, T* out, Triangle t) {
  for (int64_t i = GlobalIndex(); i < t.count; i += GlobalSize()) {
    const int64_t line = Quotient(i, t.columns), column = i - line * t.columns;
    const int64_t diagonal = line - Quotient(line, t.rows) * t.rows + t.k;
    const bool keep = t.upper ? column >= diagonal : column <= diagonal;
    out[i] = keep ? in[i] : T{};
  }
}

class Trilu : public Kernel {
 public:
  explicit Trilu(bool upper) : upper_(upper) {}
  absl::Status Bind(BindContext& context) const override { return BindTrilu(context); }
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    const Triangle t = {in.num_elements(), in.dims[in.dims.size() - 2], in.dims.back(),
                        TriluDiagonal(context), upper_};
    if (t.count == 0) return absl::OkStatus();
    return DispatchChunk(static_cast<uint64_t>(BitSize(in.dtype) / 8), [&](auto chunk) {
      using T = decltype(chunk);
      return Launch(TriluLoop<T>, Blocks(t.count), kThreads, 0, StreamOf(context), context.in<T>(0),
                    context.out<T>(0), t);
    });
  }
  uint64_t host_inputs() const override { return 2; }  // k

 private:
  bool upper_;
};

// Rows of `plan.inner` chunks.
template <typename Chunk>
__global__ void ReverseRows(const Chunk* in, const int64_t* lengths, Chunk* out, int64_t count,
                            ReverseSequencePlan plan, DeviceFaultSite fault) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t row = Quotient(i, plan.inner);
    const int64_t entry = Quotient(row, plan.batch_stride), time = Quotient(row, plan.time_stride);
    const int64_t batch = entry - Quotient(entry, plan.batch) * plan.batch;
    const int64_t step = time - Quotient(time, plan.steps) * plan.steps;
    const int64_t length = lengths[batch];
    if (length < 0 || length > plan.steps) {
      ReportBadIndex(fault, batch, length, plan.steps);
      continue;
    }
    const int64_t steps = step < length ? length - 1 - 2 * step : 0;
    out[i] = in[i + steps * plan.time_stride * plan.inner];
  }
}

class ReverseSequence : public Kernel {
 public:
  ReverseSequence(int64_t batch_axis, int64_t time_axis)
      : batch_axis_(batch_axis), time_axis_(time_axis) {}
  absl::Status Bind(BindContext& context) const override {
    return BindReverseSequence(context, batch_axis_, time_axis_);
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView &in = context.input(0), &out = context.output(0);
    if (in.num_elements() == 0) return absl::OkStatus();
    ReverseSequencePlan plan = context.state<ReverseSequencePlan>();
    const int64_t bytes = plan.inner * BitSize(in.dtype) / 8;
    return DispatchChunk(
        static_cast<uint64_t>(bytes) | AlignmentOf(in.data) | AlignmentOf(out.data),
        [&](auto chunk) {
          using Chunk = decltype(chunk);
          const auto size = static_cast<int64_t>(sizeof(Chunk));
          const int64_t count = in.byte_size() / size;
          plan.inner = bytes / size;
          return Launch(ReverseRows<Chunk>, Blocks(count), kThreads, 0, StreamOf(context),
                        context.in<Chunk>(0), context.in<int64_t>(1), context.out<Chunk>(0), count,
                        plan, context.services()->device_fault());
        });
  }

 private:
  int64_t batch_axis_, time_axis_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeTrilu(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (dtype == DType::kString || BitSize(dtype) % 8 != 0) return NoLoopFor(dtype);
  return std::make_unique<Trilu>(spec.attributes().Int("upper", 1) != 0);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeReverseSequence(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (dtype == DType::kString || BitSize(dtype) % 8 != 0) return NoLoopFor(dtype);
  return std::make_unique<ReverseSequence>(spec.attributes().Int("batch_axis", 1),
                                           spec.attributes().Int("time_axis", 0));
}

constexpr KernelEntry kKernels[] = {
    {"", "ReverseSequence", "reverse_sequence_cuda", MakeReverseSequence},
    {"", "Trilu", "trilu_cuda", MakeTrilu},
};

}  // namespace

KernelList TriluKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
