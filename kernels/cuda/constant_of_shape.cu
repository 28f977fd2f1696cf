// ConstantOfShape, by element size. The shape lies on the host.
#include <cstring>
#include <utility>

#include "kernels/bind/constant_of_shape.h"
#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

template <typename T>
__global__ void FillLoop(T* out, T value, int64_t count) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) out[i] = value;
}

class ConstantOfShape : public Kernel {
 public:
  explicit ConstantOfShape(Tensor value) : value_(std::move(value)) {}
  absl::Status Bind(BindContext& context) const override {
    return BindConstantOfShape(context, value_.dtype());
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.output(0).num_elements();
    if (count == 0) return absl::OkStatus();
    return DispatchChunk(static_cast<uint64_t>(BitSize(value_.dtype()) / 8), [&](auto chunk) {
      using T = decltype(chunk);
      T value;
      std::memcpy(&value, value_.raw_data(), sizeof(T));
      return Launch(FillLoop<T>, Blocks(count), kThreads, 0, StreamOf(context), context.out<T>(0),
                    value, count);
    });
  }
  uint64_t host_inputs() const override { return 1; }

 private:
  Tensor value_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeConstantOfShape(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(Tensor value, ConstantOfShapeValue(spec));
  if (value.dtype() == DType::kString || BitSize(value.dtype()) % 8 != 0)
    return NoLoopFor(value.dtype());
  return std::make_unique<ConstantOfShape>(std::move(value));
}

constexpr KernelEntry kKernels[] = {
    {"", "ConstantOfShape", "constant_of_shape_cuda", MakeConstantOfShape}};

}  // namespace

KernelList ConstantOfShapeKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
