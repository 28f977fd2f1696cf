// ReluGradient and ClipGradient (graph/gradients/activation.cc), in one walk. The activation's
// value may be kept in 16 bits.
#include "kernels/bind/activation_gradient.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

// dx[i] = dy[i] where the gradient passes at x[i], else 0. Bounds may be null.
using Loop = void (*)(const void* x, const void* dy, const void* low, const void* high, void* dx,
                      int64_t begin, int64_t end);

template <typename S, typename T>
void RunRelu(const void* y, const void* dy, const void*, const void*, void* dx, int64_t begin,
             int64_t end) {
  using C = ComputeType<T>;
  const S* outputs = static_cast<const S*>(y);
  const T* from = static_cast<const T*>(dy);
  T* to = static_cast<T*>(dx);
  for (int64_t i = begin; i < end; ++i) {
    const T given = from[i];  // read whatever comes, so that the loop has no branch
    to[i] = static_cast<C>(outputs[i]) > C{0} ? given : static_cast<T>(C{0});
  }
}

template <typename S, typename T>
void RunClip(const void* x, const void* dy, const void* low, const void* high, void* dx,
             int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  const bool no_low = low == nullptr, no_high = high == nullptr;
  const C least = no_low ? C{0} : static_cast<C>(*static_cast<const T*>(low));
  const C most = no_high ? C{0} : static_cast<C>(*static_cast<const T*>(high));
  const S* inputs = static_cast<const S*>(x);
  const T* from = static_cast<const T*>(dy);
  T* to = static_cast<T*>(dx);
  for (int64_t i = begin; i < end; ++i) {
    const C value = static_cast<C>(inputs[i]);
    const T given = from[i];
    to[i] = ((value > least) | no_low) & ((value < most) | no_high) ? given : static_cast<T>(C{0});
  }
}

class ActivationGradient : public Kernel {
 public:
  explicit ActivationGradient(Loop loop) : loop_(loop) {}

  absl::Status Bind(BindContext& context) const override { return BindActivationGradient(context); }

  absl::Status Run(RunContext& context) const override {
    const void* low = context.has_input(2) ? context.input(2).data : nullptr;
    const void* high = context.has_input(3) ? context.input(3).data : nullptr;
    context.ParallelFor(context.input(0).num_elements(), kCheapGrain,
                        [&](int64_t begin, int64_t end) {
                          loop_(context.input(0).data, context.input(1).data, low, high,
                                context.output(0).data, begin, end);
                        });
    return absl::OkStatus();
  }

 private:
  Loop loop_;
};

template <bool kRelu>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  Loop loop = nullptr;
  const DType saved = spec.input_dtype(0), dtype = spec.input_dtype(1);
  DispatchDType(FloatTypes(), saved, [&](auto tag) {
    using S = typename decltype(tag)::type;
    if (saved == dtype) loop = kRelu ? RunRelu<S, S> : RunClip<S, S>;
    if (dtype == DType::kFloat32) loop = kRelu ? RunRelu<S, float> : RunClip<S, float>;
  });
  if (loop == nullptr) return NoLoopFor(saved);
  return std::make_unique<ActivationGradient>(loop);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ReluGradient", "relu_gradient", Make<true>},
    {"onward", "ClipGradient", "clip_gradient", Make<false>},
};

}  // namespace

KernelList ActivationGradients() { return kKernels; }

}  // namespace onward::kernels::cpu
