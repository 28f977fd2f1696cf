// ReluGradient and ClipGradient. The bounds lie on the device; the activation's value may be kept
// in 16 bits.
#include "kernels/bind/activation_gradient.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

// The gradient passes where the activation's value is above `low` and below `high`; null: no bound.
template <typename T>
struct Bounds {
  const T *low, *high;
};

// Relu's bound is 0. A thread reads only what it writes of dY, so that `dx` may be `dy`.
template <typename S, typename T, bool kRelu>
__global__ void PassGradient(const S* values, const T* dy, Bounds<T> bounds, T* dx, int64_t count) {
  using C = ComputeType<T>;
  const bool has_low = kRelu || bounds.low != nullptr;
  const bool has_high = !kRelu && bounds.high != nullptr;
  const C low = !kRelu && has_low ? Load(*bounds.low) : C(0);
  const C high = has_high ? Load(*bounds.high) : C(0);
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const C value = static_cast<C>(Load(values[i]));
    const bool passes = (!has_low || value > low) && (!has_high || value < high);
    dx[i] = passes ? dy[i] : Rounded<T>(C(0));
  }
}

using LaunchPass = absl::Status (*)(const RunContext& context);

template <typename S, typename T, bool kRelu>
absl::Status LaunchGradient(const RunContext& context) {
  const int64_t count = context.input(0).num_elements();
  const Bounds<T> bounds = {context.has_input(2) ? context.in<T>(2) : nullptr,
                            context.has_input(3) ? context.in<T>(3) : nullptr};
  return Launch(PassGradient<S, T, kRelu>, Blocks(count), kThreads, 0, StreamOf(context),
                context.in<S>(0), context.in<T>(1), bounds, context.out<T>(0), count);
}

class ActivationGradient : public Kernel {
 public:
  explicit ActivationGradient(LaunchPass launch) : launch_(launch) {}
  absl::Status Bind(BindContext& context) const override { return BindActivationGradient(context); }
  absl::Status Run(RunContext& context) const override {
    return context.input(0).num_elements() == 0 ? absl::OkStatus() : launch_(context);
  }

 private:
  LaunchPass launch_;
};

template <bool kRelu>
absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const NodeSpec& spec) {
  LaunchPass launch = nullptr;
  const DType saved = spec.input_dtype(0), dtype = spec.input_dtype(1);
  DispatchDType(FloatTypes(), saved, [&](auto tag) {
    using S = typename decltype(tag)::type;
    if (saved == dtype) launch = LaunchGradient<S, S, kRelu>;
    if (dtype == DType::kFloat32) launch = LaunchGradient<S, float, kRelu>;
  });
  if (launch == nullptr) return NoLoopFor(saved);
  return std::make_unique<ActivationGradient>(launch);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ClipGradient", "clip_gradient_cuda", MakeGradient<false>},
    {"onward", "ReluGradient", "relu_gradient_cuda", MakeGradient<true>},
};

}  // namespace

KernelList ActivationGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
