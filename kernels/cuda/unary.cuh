// Elementwise kernels of one operand, from the functors that the CPU kernels use.
#pragma once

#include <memory>

#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/functor_values.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/packs.cuh"
#include "kernels/unary_functors.h"

namespace onward::kernels::cuda {

// The first `packs` packs, then the elements behind them.
template <typename F, typename T, typename R>
__global__ void UnaryLoop(const T* in, R* out, int64_t packs, int64_t count,
                          FunctorValues parameters) {
  constexpr int kPack = kPackOf<T, R>;
  const F f = MakeFunctor<F>(parameters.values);
  for (int64_t p = GlobalIndex(); p < packs; p += GlobalSize()) {
    const Pack<T, kPack> x = LoadPack<kPack>(in + p * kPack);
    Pack<R, kPack> y;
    for (int i = 0; i < kPack; ++i) y.elements[i] = Rounded<R>(f(Load(x.elements[i])));
    StorePack(y, out + p * kPack);
  }
  for (int64_t i = packs * kPack + GlobalIndex(); i < count; i += GlobalSize())
    out[i] = Rounded<R>(f(Load(in[i])));
}

using LaunchUnaryLoop = absl::Status (*)(const void* in, void* out, int64_t count,
                                         FunctorValues parameters, cudaStream_t stream);

template <typename F, typename T, typename R>
absl::Status LaunchUnary(const void* in, void* out, int64_t count, FunctorValues parameters,
                         cudaStream_t stream) {
  const int64_t packs = ArePackAligned({in, out}) ? count / kPackOf<T, R> : 0;
  return Launch(UnaryLoop<F, T, R>, Blocks(packs > 0 ? packs : count), kThreads, 0, stream,
                static_cast<const T*>(in), static_cast<R*>(out), packs, count, parameters);
}

class Unary : public Kernel {
 public:
  Unary(LaunchUnaryLoop launch, FunctorValues parameters, bool same_size)
      : launch_(launch), parameters_(parameters), same_size_(same_size) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    if (same_size_) context.AllowInPlace(0, 0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.input(0).num_elements();
    if (count == 0) return absl::OkStatus();
    return launch_(context.input(0).data, context.output(0).data, count, parameters_,
                   StreamOf(context));
  }

 private:
  LaunchUnaryLoop launch_;
  FunctorValues parameters_;
  bool same_size_;
};

// One row of a table: the kernel of functor F for the element types of Types.
template <typename F, typename Types = FloatTypes>
absl::StatusOr<std::unique_ptr<Kernel>> MakeUnary(const NodeSpec& spec) {
  const FunctorValues parameters = ReadFunctorValues<F>(spec.attributes());
  std::unique_ptr<Kernel> kernel;
  DispatchDType(Types(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = ResultType<F, T, ComputeType<T>>;
    kernel = std::make_unique<Unary>(LaunchUnary<F, T, R>, parameters, sizeof(T) == sizeof(R));
  });
  if (kernel == nullptr) return NoLoopFor(spec.input_dtype(0));
  return kernel;
}

}  // namespace onward::kernels::cuda
