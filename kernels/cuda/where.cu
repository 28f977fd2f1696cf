// Where, by element size: the values are only moved.
#include "kernels/bind/where.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

using Loop = BroadcastLoop<3>;

template <typename T>
__global__ void WhereLoop(const bool* condition, const T* x, const T* y, T* out, int64_t count,
                          Loop loop) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    int64_t at[3];
    FindOperands(loop, i, at);
    out[i] = condition[at[0]] ? x[at[1]] : y[at[2]];
  }
}

using LaunchLoop = absl::Status (*)(const RunContext& context, int64_t count);

template <typename T>
absl::Status LaunchWhere(const RunContext& context, int64_t count) {
  return Launch(WhereLoop<T>, Blocks(count), kThreads, 0, StreamOf(context), context.in<bool>(0),
                context.in<T>(1), context.in<T>(2), context.out<T>(0), count,
                context.state<Loop>());
}

class Where : public Kernel {
 public:
  explicit Where(LaunchLoop launch) : launch_(launch) {}
  absl::Status Bind(BindContext& context) const override { return BindWhere(context); }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.output(0).num_elements();
    return count == 0 ? absl::OkStatus() : launch_(context, count);
  }

 private:
  LaunchLoop launch_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeWhere(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(1);
  if (dtype == DType::kString) return NoLoopFor(dtype);
  switch (BitSize(dtype)) {
    case 8:
      return std::make_unique<Where>(LaunchWhere<uint8_t>);
    case 16:
      return std::make_unique<Where>(LaunchWhere<uint16_t>);
    case 32:
      return std::make_unique<Where>(LaunchWhere<uint32_t>);
    case 64:
      return std::make_unique<Where>(LaunchWhere<uint64_t>);
    default:
      return NoLoopFor(dtype);
  }
}

constexpr KernelEntry kKernels[] = {{"", "Where", "where_cuda", MakeWhere}};

}  // namespace

KernelList WhereKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
