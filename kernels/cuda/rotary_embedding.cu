// RotaryEmbedding, in float: a thread for each pair of a head, and for each element behind them.
#include "kernels/bind/rotary_embedding.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

// The entry of position_ids for head `index` of x, counted as they lie in memory.
__device__ inline int64_t StepOf(const RotaryGeometry& g, int64_t index) {
  if (g.x_head < g.x_step) return Quotient(index, g.heads);  // of packed heads
  const int64_t above = Quotient(index, g.steps);
  return Quotient(above, g.heads) * g.steps + index - above * g.steps;
}

// `ids` is null where each step has a row of the caches of its own.
template <typename T>
__global__ void RotateHeads(const T* x, const T* cos, const T* sin, const int64_t* ids, T* y,
                            RotaryGeometry g, bool interleaved, DeviceFaultSite fault) {
  const int64_t half = g.rotary_dim / 2, parts = g.head_size - half;
  const int64_t count = g.batch * g.steps * g.heads * parts;
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t index = Quotient(i, parts), part = i - index * parts;
    const int64_t head = index * g.head_size;
    if (part >= half) {
      y[head + half + part] = x[head + half + part];
      continue;
    }
    const int64_t step = StepOf(g, index), position = ids == nullptr ? step : ids[step];
    if (position < 0 || position >= g.positions) {
      ReportBadIndex(fault, step, position, g.positions);
      continue;
    }
    const int64_t first = head + (interleaved ? 2 * part : part);
    const int64_t second = first + (interleaved ? 1 : half);
    const int64_t angle = position * half + part;
    const RotatedPair pair =
        Rotated(Load(x[first]), Load(x[second]), Load(cos[angle]), Load(sin[angle]));
    y[first] = Rounded<T>(pair.first);
    y[second] = Rounded<T>(pair.second);
  }
}

using LaunchRotation = absl::Status (*)(const RunContext& context, bool interleaved);

template <typename T>
absl::Status LaunchHeads(const RunContext& context, bool interleaved) {
  const auto& g = context.state<RotaryGeometry>();
  const int64_t parts = g.head_size - g.rotary_dim / 2;
  return Launch(RotateHeads<T>, Blocks(g.batch * g.steps * g.heads * parts), kThreads, 0,
                StreamOf(context), context.in<T>(0), context.in<T>(1), context.in<T>(2),
                context.has_input(3) ? context.in<int64_t>(3) : nullptr, context.out<T>(0), g,
                interleaved, context.services()->device_fault());
}

class RotaryEmbedding : public Kernel {
 public:
  RotaryEmbedding(LaunchRotation launch, RotaryAttributes attributes)
      : launch_(launch), attributes_(attributes) {}
  absl::Status Bind(BindContext& context) const override {
    return BindRotaryEmbedding(context, attributes_);
  }
  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    return launch_(context, attributes_.interleaved);
  }

 private:
  LaunchRotation launch_;
  RotaryAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeRotaryEmbedding(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const RotaryAttributes attributes, RotaryAttributes::Parse(spec));
  LaunchRotation launch = nullptr;
  DispatchDType(TypeList<float, Float16, BFloat16>(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchHeads<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<RotaryEmbedding>(launch, attributes);
}

constexpr KernelEntry kKernels[] = {
    {"", "RotaryEmbedding", "rotary_embedding_cuda", MakeRotaryEmbedding}};

}  // namespace

KernelList RotaryEmbeddingKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
