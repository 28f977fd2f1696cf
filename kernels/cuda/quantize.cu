// QuantizeLinear to bytes and DequantizeLinear from bytes and int32, per tensor, axis or block.
#include <cmath>

#include "kernels/bind/quantize.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/packs.cuh"

namespace onward::kernels::cuda {
namespace {

// The position of element i's scale.
__device__ int64_t ScaleOf(const QuantizePlan& plan, int64_t i) {
  if (plan.num_scales == 1) return 0;
  const int64_t line = Quotient(i, plan.inner);
  const int64_t outer = Quotient(line, plan.count), index = line - outer * plan.count;
  if (plan.block == 0) return index;
  const int64_t blocks = Quotient(plan.count + plan.block - 1, plan.block);
  return (outer * blocks + Quotient(index, plan.block)) * plan.inner + i - line * plan.inner;
}

// Q: codes; T: floats and their scales.
template <typename Q, typename T>
struct Quantize {
  using In = T;
  using Out = Q;
  const T* scales;
  const Q* zeros;  // may be null

  // Rounds to the nearest, ties to even; NaN becomes the lowest code.
  __device__ Q operator()(T x, int64_t at) const {
    const auto quotient = Load(Rounded<T>(Load(x) / Load(scales[at])));
    const auto code =
        std::nearbyint(quotient) + static_cast<float>(zeros == nullptr ? 0 : zeros[at]);
    constexpr float kLow = std::is_signed_v<Q> ? -128 : 0, kHigh = std::is_signed_v<Q> ? 127 : 255;
    if (!(code > kLow)) return static_cast<Q>(kLow);
    return static_cast<Q>(code >= kHigh ? kHigh : code);
  }
};

template <typename Q, typename T>
struct Dequantize {
  using In = Q;
  using Out = T;
  const T* scales;
  const Q* zeros;  // may be null

  __device__ T operator()(Q x, int64_t at) const {
    const auto zero = zeros == nullptr ? 0.0f : static_cast<float>(zeros[at]);
    return Rounded<T>((static_cast<float>(x) - zero) * Load(scales[at]));
  }
};

// The first `packs` packs, each of one scale, then the elements behind them.
template <typename F, typename In, typename Out>
__global__ void QuantizeLoop(F f, const In* x, Out* y, int64_t packs, int64_t count,
                             QuantizePlan plan) {
  constexpr int kPack = kPackOf<In, Out>;
  for (int64_t p = GlobalIndex(); p < packs; p += GlobalSize()) {
    const Pack<In, kPack> from = LoadPack<kPack>(x + p * kPack);
    Pack<Out, kPack> to;
    const int64_t at = ScaleOf(plan, p * kPack);
    for (int i = 0; i < kPack; ++i) to.elements[i] = f(from.elements[i], at);
    StorePack(to, y + p * kPack);
  }
  for (int64_t i = packs * kPack + GlobalIndex(); i < count; i += GlobalSize())
    y[i] = f(x[i], ScaleOf(plan, i));
}

using LaunchPlan = absl::Status (*)(const RunContext& context);

template <template <typename, typename> typename Function, typename Q, typename T>
absl::Status LaunchQuantize(const RunContext& context) {
  using F = Function<Q, T>;
  using In = typename F::In;
  using Out = typename F::Out;
  constexpr int kPack = kPackOf<In, Out>;
  const auto& plan = context.state<QuantizePlan>();
  const F f = {context.in<T>(1), context.has_input(2) ? context.in<Q>(2) : nullptr};
  const In* x = context.in<In>(0);
  Out* y = context.out<Out>(0);
  const int64_t count = context.input(0).num_elements();
  const bool by_packs = ArePackAligned({x, y}) &&
                        (plan.num_scales == 1 || (plan.block == 0 && plan.inner % kPack == 0));
  const int64_t packs = by_packs ? count / kPack : 0;
  return Launch(QuantizeLoop<F, In, Out>, Blocks(packs > 0 ? packs : count), kThreads, 0,
                StreamOf(context), f, x, y, packs, count, plan);
}

class Linear : public Kernel {
 public:
  Linear(LaunchPlan launch, const QuantizeAttributes& attributes)
      : launch_(launch), attributes_(attributes) {}
  absl::Status Bind(BindContext& context) const override {
    return BindQuantize(context, attributes_).status();
  }
  absl::Status Run(RunContext& context) const override {
    return context.input(0).num_elements() == 0 ? absl::OkStatus() : launch_(context);
  }

 private:
  LaunchPlan launch_;
  QuantizeAttributes attributes_;
};

using FloatTypesOfScales = TypeList<float, Float16, BFloat16>;

template <template <typename, typename> typename Function, typename Codes>
absl::StatusOr<std::unique_ptr<Kernel>> MakeLinear(const NodeSpec& spec, DType codes,
                                                   DType floats) {
  if (spec.input_dtype(1) != floats)
    return absl::UnimplementedError("only where the scale has the floats' type");
  LaunchPlan launch = nullptr;
  DispatchDType(Codes(), codes, [&](auto code_tag) {
    DispatchDType(FloatTypesOfScales(), floats, [&](auto tag) {
      launch =
          LaunchQuantize<Function, typename decltype(code_tag)::type, typename decltype(tag)::type>;
    });
  });
  if (launch == nullptr) return NoLoopFor(codes);
  return std::make_unique<Linear>(launch, QuantizeAttributes(spec));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeQuantize(const NodeSpec& spec) {
  if (spec.attributes().Int("precision", 0) != 0)
    return absl::UnimplementedError("a precision other than the scale's");
  return MakeLinear<Quantize, TypeList<int8_t, uint8_t>>(spec, spec.output_dtype(0),
                                                         spec.input_dtype(0));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDequantize(const NodeSpec& spec) {
  return MakeLinear<Dequantize, TypeList<int8_t, uint8_t, int32_t>>(spec, spec.input_dtype(0),
                                                                    spec.output_dtype(0));
}

constexpr KernelEntry kKernels[] = {
    {"", "DequantizeLinear", "dequantize_linear_cuda", MakeDequantize},
    {"", "QuantizeLinear", "quantize_linear_cuda", MakeQuantize},
};

}  // namespace

KernelList QuantizeKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
