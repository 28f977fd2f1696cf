// Elementwise ops of two operands with broadcasting, from the functors that the CPU kernels use.
#include "kernels/binary_functors.h"
#include "kernels/broadcast.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.cuh"

namespace onward::cuda {
namespace {

using Loop = BroadcastLoop<2>;

template <typename F, typename T>
__global__ void BinaryLoop(const T* a, const T* b, T* out, int64_t count, Loop loop) {
  const F f{};
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    int64_t rest = i, at_a = 0, at_b = 0;
    for (int d = 0; d < loop.rank; ++d) {
      const int64_t index = rest % loop.dims[d];
      rest /= loop.dims[d];
      at_a += index * loop.strides[0][d];
      at_b += index * loop.strides[1][d];
    }
    out[i] = f(a[at_a], b[at_b]);
  }
}

using LaunchLoop = absl::Status (*)(const void* a, const void* b, void* out, int64_t count,
                                    const Loop& loop, cudaStream_t stream);

template <typename F, typename T>
absl::Status LaunchBinary(const void* a, const void* b, void* out, int64_t count, const Loop& loop,
                          cudaStream_t stream) {
  return Launch(BinaryLoop<F, T>, Blocks(count), kThreads, 0, stream, static_cast<const T*>(a),
                static_cast<const T*>(b), static_cast<T*>(out), count, loop);
}

class Binary : public Kernel {
 public:
  explicit Binary(LaunchLoop launch) : launch_(launch) {}
  absl::Status Bind(BindContext& context) const override {
    auto* loop = context.NewState<Loop>();
    Dims dims;
    const DimsView shapes[2] = {context.input_dims(0), context.input_dims(1)};
    ONWARD_RETURN_IF_ERROR(BuildBroadcastLoop(shapes, nullptr, &dims, loop));
    context.SetOutput(0, dims);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.output(0).num_elements();
    if (count == 0) return absl::OkStatus();
    return launch_(context.input(0).data, context.input(1).data, context.output(0).data, count,
                   context.state<Loop>(), static_cast<cudaStream_t>(context.services()->stream()));
  }

 private:
  LaunchLoop launch_;
};

template <typename F>
absl::StatusOr<std::unique_ptr<Kernel>> MakeBinary(const NodeSpec& spec) {
  switch (spec.input_dtype(0)) {
    case DType::kFloat32:
      return std::make_unique<Binary>(LaunchBinary<F, float>);
    case DType::kFloat64:
      return std::make_unique<Binary>(LaunchBinary<F, double>);
    case DType::kInt32:
      return std::make_unique<Binary>(LaunchBinary<F, int32_t>);
    case DType::kInt64:
      return std::make_unique<Binary>(LaunchBinary<F, int64_t>);
    default:
      return absl::UnimplementedError("only float32, float64, int32 and int64");
  }
}

constexpr KernelEntry kKernels[] = {
    {"", "Add", "add_cuda", MakeBinary<functors::Add>},
    {"", "Div", "div_cuda", MakeBinary<functors::Div>},
    {"", "Mul", "mul_cuda", MakeBinary<functors::Mul>},
    {"", "Sub", "sub_cuda", MakeBinary<functors::Sub>},
};

}  // namespace

KernelList BinaryKernels() { return kKernels; }

}  // namespace onward::cuda
