// Trilu, by element size.
#include "kernels/bind/trilu.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/chunks.cuh"
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

absl::StatusOr<std::unique_ptr<Kernel>> MakeTrilu(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (dtype == DType::kString || BitSize(dtype) % 8 != 0) return NoLoopFor(dtype);
  return std::make_unique<Trilu>(spec.attributes().Int("upper", 1) != 0);
}

constexpr KernelEntry kKernels[] = {{"", "Trilu", "trilu_cuda", MakeTrilu}};

}  // namespace

KernelList TriluKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
