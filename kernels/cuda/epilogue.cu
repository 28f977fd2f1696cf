#include "kernels/binary_functors.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/unary_functors.h"

namespace onward::kernels::cuda {
namespace {

struct Nothing {
  template <typename C>
  __device__ C operator()(C x) const {
    return x;
  }
};

struct ClipTo {
  static constexpr FunctorParameter kParameters[] = {{"low", 0}, {"high", 0}};
  float low, high;
  template <typename C>
  __device__ C operator()(C x) const {
    return functors::Min()(functors::Max()(x, static_cast<C>(low)), static_cast<C>(high));
  }
};

template <typename T>
struct Addends {
  const T *bias, *residual;
  int64_t channels, inner;
  float parameters[2];  // of the activation
};

template <typename T>
__device__ ComputeType<T> BiasAt(const Addends<T>& addends, int64_t i) {
  if (addends.bias == nullptr) return 0;
  const int64_t outer = Quotient(i, addends.inner);
  return Load(addends.bias[outer - Quotient(outer, addends.channels) * addends.channels]);
}

// The first `packs` packs, each of one channel, then the elements behind them.
template <typename F, typename T>
__global__ void EpilogueLoop(T* y, int64_t packs, int64_t count, Addends<T> addends) {
  constexpr int kPack = kPackOf<T>;
  const F f = MakeFunctor<F>(addends.parameters);
  for (int64_t p = GlobalIndex(); p < packs; p += GlobalSize()) {
    Pack<T, kPack> values = LoadPack<kPack>(y + p * kPack), others = {};
    if (addends.residual != nullptr) others = LoadPack<kPack>(addends.residual + p * kPack);
    const ComputeType<T> bias = BiasAt(addends, p * kPack);
    for (int i = 0; i < kPack; ++i) {
      ComputeType<T> value = Load(values.elements[i]) + bias;
      if (addends.residual != nullptr) value += Load(others.elements[i]);
      values.elements[i] = Rounded<T>(f(value));
    }
    StorePack(values, y + p * kPack);
  }
  for (int64_t i = packs * kPack + GlobalIndex(); i < count; i += GlobalSize()) {
    ComputeType<T> value = Load(y[i]) + BiasAt(addends, i);
    if (addends.residual != nullptr) value += Load(addends.residual[i]);
    y[i] = Rounded<T>(f(value));
  }
}

template <typename F, typename T>
absl::Status LaunchEpilogue(const Epilogue& e, T* y, int64_t count, cudaStream_t stream) {
  const Addends<T> addends = {static_cast<const T*>(e.bias),
                              static_cast<const T*>(e.residual),
                              e.channels,
                              e.inner,
                              {e.activation.alpha, e.activation.beta}};
  constexpr int kPack = kPackOf<T>;
  const bool by_packs =
      ArePackAligned({y, e.residual}) && (e.bias == nullptr || e.inner % kPack == 0);
  const int64_t packs = by_packs ? count / kPack : 0;
  return Launch(EpilogueLoop<F, T>, Blocks(packs > 0 ? packs : count), kThreads, 0, stream, y,
                packs, count, addends);
}

template <typename F>
absl::Status Run(const Epilogue& epilogue, DType dtype, void* y, int64_t count,
                 cudaStream_t stream) {
  absl::Status status = NoLoopFor(dtype);
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    // nvcc takes the result of the assignment for a status that is ignored.
    static_cast<void>(status = LaunchEpilogue<F>(epilogue, static_cast<T*>(y), count, stream));
  });
  return status;
}

}  // namespace

absl::Status RunEpilogue(const Epilogue& epilogue, DType dtype, void* y, int64_t count,
                         cudaStream_t stream) {
  namespace f = functors;
  if (epilogue.is_nothing() || count == 0) return absl::OkStatus();
  switch (epilogue.activation.kind) {
    case Activation::kNone:
      return Run<Nothing>(epilogue, dtype, y, count, stream);
    case Activation::kRelu:
      return Run<f::Relu>(epilogue, dtype, y, count, stream);
    case Activation::kClip:
      return Run<ClipTo>(epilogue, dtype, y, count, stream);
    case Activation::kLeakyRelu:
      return Run<f::LeakyRelu>(epilogue, dtype, y, count, stream);
    case Activation::kSigmoid:
      return Run<f::Sigmoid>(epilogue, dtype, y, count, stream);
    case Activation::kTanh:
      return Run<f::Tanh>(epilogue, dtype, y, count, stream);
    case Activation::kGelu:
      return Run<f::GeluErf>(epilogue, dtype, y, count, stream);
    case Activation::kGeluTanh:
      return Run<f::GeluTanh>(epilogue, dtype, y, count, stream);
    case Activation::kSilu: {
      Epilogue swish = epilogue;
      swish.activation.alpha = 1;
      return Run<f::Swish>(swish, dtype, y, count, stream);
    }
    case Activation::kHardSwish:
      return Run<f::HardSwish>(epilogue, dtype, y, count, stream);
    case Activation::kHardSigmoid:
      return Run<f::HardSigmoid>(epilogue, dtype, y, count, stream);
  }
  return absl::InternalError("an activation that no loop knows");
}

}  // namespace onward::kernels::cuda
