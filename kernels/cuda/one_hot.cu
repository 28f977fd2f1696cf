// OneHot: an element of the output is one of the two values.
#include "kernels/bind/one_hot.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

// Indices out of range leave all elements off, says the standard.
template <typename I, typename T>
__global__ void OneHotLoop(const I* indices, const T* values, T* out, int64_t count,
                           OneHotPlan plan) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t above = Quotient(i, plan.inner), inner = i - above * plan.inner;
    const int64_t outer = Quotient(above, plan.depth), place = above - outer * plan.depth;
    int64_t index = OneHotIndex(Load(indices[outer * plan.inner + inner]));
    if (index < 0) index += plan.depth;
    out[i] = values[index == place ? 1 : 0];
  }
}

using LaunchIndices = absl::Status (*)(const RunContext& context);

template <typename I>
absl::Status LaunchOneHot(const RunContext& context) {
  const TensorView& out = context.output(0);
  return DispatchChunk(static_cast<uint64_t>(BitSize(out.dtype) / 8), [&](auto chunk) {
    using T = decltype(chunk);
    return Launch(OneHotLoop<I, T>, Blocks(out.num_elements()), kThreads, 0, StreamOf(context),
                  context.in<I>(0), context.in<T>(2), context.out<T>(0), out.num_elements(),
                  context.state<OneHotPlan>());
  });
}

class OneHot : public Kernel {
 public:
  OneHot(LaunchIndices launch, int64_t axis) : launch_(launch), axis_(axis) {}
  absl::Status Bind(BindContext& context) const override { return BindOneHot(context, axis_); }
  absl::Status Run(RunContext& context) const override {
    return context.output(0).num_elements() == 0 ? absl::OkStatus() : launch_(context);
  }
  uint64_t host_inputs() const override { return 2; }  // depth

 private:
  LaunchIndices launch_;
  int64_t axis_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeOneHot(const NodeSpec& spec) {
  const DType values = spec.input_dtype(2);
  if (values == DType::kString || BitSize(values) % 8 != 0) return NoLoopFor(values);
  LaunchIndices launch = nullptr;
  using Types = TypeList<float, double, Float16, BFloat16, int32_t, int64_t, uint8_t>;
  DispatchDType(Types(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchOneHot<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<OneHot>(launch, spec.attributes().Int("axis", -1));
}

constexpr KernelEntry kKernels[] = {{"", "OneHot", "one_hot_cuda", MakeOneHot}};

}  // namespace

KernelList OneHotKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
