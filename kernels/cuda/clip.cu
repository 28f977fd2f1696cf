// Clip: the bounds are scalars of the host.
#include <limits>

#include "kernels/bind/clip.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/packs.cuh"

namespace onward::kernels::cuda {
namespace {

// NaN passes.
template <typename T>
__device__ T Clipped(T x, ComputeType<T> low, ComputeType<T> high) {
  ComputeType<T> value = Load(x);
  value = value < low ? low : value;
  return Rounded<T>(value > high ? high : value);
}

// The first `packs` packs, then the elements behind them.
template <typename T>
__global__ void ClipLoop(const T* x, T* y, int64_t packs, int64_t count, ComputeType<T> low,
                         ComputeType<T> high) {
  constexpr int kPack = kPackOf<T>;
  for (int64_t p = GlobalIndex(); p < packs; p += GlobalSize()) {
    Pack<T, kPack> values = LoadPack<kPack>(x + p * kPack);
    for (T& element : values.elements) element = Clipped(element, low, high);
    StorePack(values, y + p * kPack);
  }
  for (int64_t i = packs * kPack + GlobalIndex(); i < count; i += GlobalSize())
    y[i] = Clipped(x[i], low, high);
}

using LaunchLoop = absl::Status (*)(const RunContext& context);

template <typename T>
absl::Status LaunchClip(const RunContext& context) {
  using C = ComputeType<T>;
  using Limits = std::numeric_limits<C>;
  const C low = context.has_input(1)   ? static_cast<C>(*context.in<T>(1))
                : Limits::has_infinity ? -Limits::infinity()
                                       : Limits::lowest();
  const C high = context.has_input(2)   ? static_cast<C>(*context.in<T>(2))
                 : Limits::has_infinity ? Limits::infinity()
                                        : Limits::max();
  const T* x = context.in<T>(0);
  T* y = context.out<T>(0);
  const int64_t count = context.input(0).num_elements();
  const int64_t packs = ArePackAligned({x, y}) ? count / kPackOf<T> : 0;
  return Launch(ClipLoop<T>, Blocks(packs > 0 ? packs : count), kThreads, 0, StreamOf(context), x,
                y, packs, count, low, high);
}

class Clip : public Kernel {
 public:
  explicit Clip(LaunchLoop launch) : launch_(launch) {}
  absl::Status Bind(BindContext& context) const override { return BindClip(context); }
  absl::Status Run(RunContext& context) const override {
    return context.input(0).num_elements() == 0 ? absl::OkStatus() : launch_(context);
  }
  uint64_t host_inputs() const override { return 6; }

 private:
  LaunchLoop launch_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeClip(const NodeSpec& spec) {
  LaunchLoop launch = nullptr;
  DispatchDType(Concat<FloatTypes, TypeList<int8_t, uint8_t, int32_t, int64_t>>(),
                spec.input_dtype(0),
                [&](auto tag) { launch = LaunchClip<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Clip>(launch);
}

constexpr KernelEntry kKernels[] = {{"", "Clip", "clip_cuda", MakeClip}};

}  // namespace

KernelList ClipKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
