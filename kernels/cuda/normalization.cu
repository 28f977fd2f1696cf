// LayerNormalization and RMSNormalization: statistics of rows, in float (double for doubles).
#include <cmath>

#include "kernels/bind/layer_normalization.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {
namespace {

template <typename T>
struct LayerOperands {
  const T *x, *scale, *bias;  // bias: may be null
  T* y;
  // One element for each row; may be null.
  float *mean, *inverse;
};

// scale and bias of element `at` of X, which is column `column` of its row.
template <typename T>
__device__ T Affine(const LayerOperands<T>& o, const LayerPlan& plan, ComputeType<T> value,
                    int64_t at, int64_t column) {
  using C = ComputeType<T>;
  int64_t of_scale = column, of_bias = column;
  if (!plan.simple) {
    value = Load(Rounded<T>(value));  // as the reference, which has two passes here
    int64_t operands[2];
    FindOperands(plan.affine, at, operands);
    of_scale = operands[0], of_bias = operands[1];
  }
  value *= Load(o.scale[of_scale]);
  return Rounded<T>(o.bias == nullptr ? value : value + static_cast<C>(Load(o.bias[of_bias])));
}

// A thread reads only what it writes of X, so that y may be x.
template <typename T, bool kCentered, bool kWide>
__global__ void NormalizeRows(LayerOperands<T> o, LayerPlan plan, float epsilon) {
  using C = ComputeType<T>;
  using Threads = RowThreads<kWide>;
  const int64_t n = plan.columns;
  for (int64_t row = Threads::first(); row < plan.rows; row += Threads::step()) {
    const T* x = o.x + row * n;
    C mean = 0, squares = 0;
    if constexpr (kCentered) {
      for (int64_t i = Threads::index(); i < n; i += Threads::count()) mean += Load(x[i]);
      mean = Threads::template Combine<functors::Add>(mean) / static_cast<C>(n);
    }
    for (int64_t i = Threads::index(); i < n; i += Threads::count()) {
      const C difference = Load(x[i]) - mean;
      squares += difference * difference;
    }
    const C variance = Threads::template Combine<functors::Add>(squares) / static_cast<C>(n);
    const C inverse = C(1) / std::sqrt(variance + static_cast<C>(epsilon));
    if (Threads::index() == 0) {
      if (o.mean != nullptr) o.mean[row] = static_cast<float>(mean);
      if (o.inverse != nullptr) o.inverse[row] = static_cast<float>(inverse);
    }
    for (int64_t i = Threads::index(); i < n; i += Threads::count())
      o.y[row * n + i] = Affine(o, plan, (Load(x[i]) - mean) * inverse, row * n + i, i);
  }
}

using LaunchRows = absl::Status (*)(const RunContext& context, float epsilon);

template <typename T, bool kCentered>
absl::Status LaunchLayer(const RunContext& context, float epsilon) {
  const auto& plan = context.state<LayerPlan>();
  LayerOperands<T> operands = {};
  operands.x = context.in<T>(0);
  operands.scale = context.in<T>(1);
  if (context.has_input(2)) operands.bias = context.in<T>(2);
  operands.y = context.out<T>(0);
  if (context.has_output(1)) operands.mean = context.out<float>(1);
  if (context.has_output(2)) operands.inverse = context.out<float>(2);
  const bool wide = AreWide(plan.rows, plan.columns);
  return Launch(wide ? NormalizeRows<T, kCentered, true> : NormalizeRows<T, kCentered, false>,
                RowBlocks(plan.rows, wide), kThreads, 0,
                static_cast<cudaStream_t>(context.services()->stream()), operands, plan, epsilon);
}

class LayerNormalization : public Kernel {
 public:
  LayerNormalization(LaunchRows launch, int64_t axis, float epsilon)
      : launch_(launch), axis_(axis), epsilon_(epsilon) {}
  absl::Status Bind(BindContext& context) const override {
    context.AllowInPlace(0, 0);
    return BindLayerNormalization(context, axis_);
  }
  absl::Status Run(RunContext& context) const override {
    if (context.state<LayerPlan>().rows == 0) return absl::OkStatus();
    return launch_(context, epsilon_);
  }

 private:
  LaunchRows launch_;
  int64_t axis_;
  float epsilon_;
};

template <bool kCentered>
absl::StatusOr<std::unique_ptr<Kernel>> MakeLayer(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (spec.input_dtype(1) != dtype)
    return absl::UnimplementedError("only where X and scale have the same type");
  for (int i = 1; i < 3; ++i) {
    if (spec.has_output(i) && spec.output_dtype(i) != DType::kFloat32)
      return absl::UnimplementedError("mean and deviation only in float32");
  }
  LaunchRows launch = nullptr;
  DispatchDType(FloatTypes(), dtype,
                [&](auto tag) { launch = LaunchLayer<typename decltype(tag)::type, kCentered>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<LayerNormalization>(launch, spec.attributes().Int("axis", -1),
                                              spec.attributes().Float("epsilon", 1e-5f));
}

constexpr KernelEntry kKernels[] = {
    {"", "LayerNormalization", "layer_normalization_cuda", MakeLayer<true>},
    {"", "RMSNormalization", "rms_normalization_cuda", MakeLayer<false>},
};

}  // namespace

KernelList NormalizationKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
