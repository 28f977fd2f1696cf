// LayerNormalization and RMSNormalization, of a sum too: statistics of rows, in float (double for
// doubles).
#include <cmath>

#include "kernels/bind/layer_normalization.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/row_moments.cuh"

namespace onward::kernels::cuda {
namespace {

// X, scale and bias of type T, Z of S, Y of R.
template <typename T, typename S = T, typename R = T>
struct LayerOperands {
  const T *x, *scale, *bias;
  const S* z;  // which is added to x; it and bias may be null
  R* y;
  T* sum;  // of x and z; may be y
  // One element for each row; may be null.
  float *mean, *inverse;
};

// scale and bias of element `at` of X, which is column `column` of its row.
template <typename T, typename S, typename R>
__device__ R Affine(const LayerOperands<T, S, R>& o, const LayerPlan& plan, ComputeType<T> value,
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
  return Rounded<R>(o.bias == nullptr ? value : value + static_cast<C>(Load(o.bias[of_bias])));
}

// A thread writes the packs of the sum that it reads again.
template <typename Threads, int kPack, typename T, typename S>
__device__ void AddRows(const T* x, const S* z, T* sum, int64_t packs) {
  for (int64_t p = Threads::index(); p < packs; p += Threads::count()) {
    Pack<T, kPack> pack = LoadPack<kPack>(x + p * kPack);
    const Pack<S, kPack> added = LoadPack<kPack>(z + p * kPack);
    for (int i = 0; i < kPack; ++i)
      pack.elements[i] = Rounded<T>(Load(pack.elements[i]) + Load(added.elements[i]));
    StorePack(pack, sum + p * kPack);
  }
}

// Rows are multiples of kPack elements. A thread reads only what it writes of X and Z, so that y
// and sum may be one of them.
template <typename T, typename S, typename R, bool kCentered, bool kWide, int kPack>
__global__ void NormalizeRows(LayerOperands<T, S, R> o, LayerPlan plan, float epsilon) {
  using C = ComputeType<T>;
  using Threads = RowThreads<kWide>;
  const int64_t n = plan.columns, packs = n / kPack;
  for (int64_t row = Threads::first(); row < plan.rows; row += Threads::step()) {
    const T* x = o.x + row * n;
    if (o.z != nullptr) {
      AddRows<Threads, kPack>(x, o.z + row * n, o.sum + row * n, packs);
      x = o.sum + row * n;
    }
    const auto [mean, variance] = MomentsOfRow<Threads, kCentered, kPack>(x, n);
    const C inverse = C(1) / std::sqrt(variance + static_cast<C>(epsilon));
    if (Threads::index() == 0) {
      if (o.mean != nullptr) o.mean[row] = static_cast<float>(mean);
      if (o.inverse != nullptr) o.inverse[row] = static_cast<float>(inverse);
    }
    for (int64_t p = Threads::index(); p < packs; p += Threads::count()) {
      const Pack<T, kPack> pack = LoadPack<kPack>(x + p * kPack);
      Pack<R, kPack> result;
      for (int i = 0; i < kPack; ++i) {
        const int64_t column = p * kPack + i;
        result.elements[i] =
            Affine(o, plan, (Load(pack.elements[i]) - mean) * inverse, row * n + column, column);
      }
      StorePack(result, o.y + row * n + p * kPack);
    }
  }
}

template <bool kCentered, int kPack, typename T, typename S, typename R>
absl::Status LaunchPacks(const LayerOperands<T, S, R>& operands, const LayerPlan& plan,
                         float epsilon, cudaStream_t stream) {
  const bool wide = AreWide(plan.rows, plan.columns / kPack);
  return Launch(wide ? NormalizeRows<T, S, R, kCentered, true, kPack>
                     : NormalizeRows<T, S, R, kCentered, false, kPack>,
                RowBlocks(plan.rows, wide), kThreads, 0, stream, operands, plan, epsilon);
}

template <bool kCentered, typename T, typename S, typename R>
absl::Status LaunchOperands(const LayerOperands<T, S, R>& operands, const LayerPlan& plan,
                            float epsilon, cudaStream_t stream) {
  constexpr int kPack = kPackOf<T, S, R>;
  if (plan.columns % kPack == 0 &&
      ArePackAligned({operands.x, operands.z, operands.y, operands.sum}))
    return LaunchPacks<kCentered, kPack>(operands, plan, epsilon, stream);
  return LaunchPacks<kCentered, 1>(operands, plan, epsilon, stream);
}

using LaunchRows = absl::Status (*)(const RunContext& context, float epsilon);

template <typename T, bool kCentered, bool kAdds>
absl::Status LaunchLayer(const RunContext& context, float epsilon) {
  const auto& plan = context.state<LayerPlan>();
  LayerOperands<T> operands = {};
  operands.x = context.in<T>(0);
  constexpr int kScale = kAdds ? 2 : 1;
  operands.scale = context.in<T>(kScale);
  if (context.has_input(kScale + 1)) operands.bias = context.in<T>(kScale + 1);
  operands.y = context.out<T>(0);
  if (kAdds) {
    operands.z = context.in<T>(1);
    operands.sum = context.has_output(1) ? context.out<T>(1) : operands.y;
  } else {
    if (context.has_output(1)) operands.mean = context.out<float>(1);
    if (context.has_output(2)) operands.inverse = context.out<float>(2);
  }
  return LaunchOperands<kCentered>(operands, plan, epsilon, StreamOf(context));
}

template <typename S, typename R, bool kCentered>
absl::Status LaunchNarrow(const RunContext& context, float epsilon) {
  LayerOperands<float, S, R> operands = {};
  operands.x = context.in<float>(0);
  operands.scale = context.in<float>(2);
  if (context.has_input(3)) operands.bias = context.in<float>(3);
  operands.y = context.out<R>(0);
  if (context.has_input(1)) {
    operands.z = context.in<S>(1);
    operands.sum = context.out<float>(1);
  }
  return LaunchOperands<kCentered>(operands, context.state<LayerPlan>(), epsilon,
                                   StreamOf(context));
}

enum class NormalizedRows : uint8_t { kPlain, kOfSum, kOfSumNarrow };

class LayerNormalization : public Kernel {
 public:
  LayerNormalization(LaunchRows launch, const NodeSpec& spec, NormalizedRows rows)
      : launch_(launch),
        axis_(spec.attributes().Int("axis", -1)),
        epsilon_(spec.attributes().Float("epsilon", 1e-5f)),
        rows_(rows) {}
  absl::Status Bind(BindContext& context) const override {
    const bool adds = rows_ != NormalizedRows::kPlain, has_sum = adds && context.has_output(1);
    if (rows_ == NormalizedRows::kOfSumNarrow) {
      if (has_sum) context.AllowInPlace(1, 0);  // the only ones of one size
    } else {
      for (int output = 0; output < (has_sum ? 2 : 1); ++output)
        for (int input = 0; input < (adds ? 2 : 1); ++input) context.AllowInPlace(output, input);
    }
    return BindLayerNormalization(context, axis_, adds);
  }
  absl::Status Run(RunContext& context) const override {
    if (context.state<LayerPlan>().rows == 0) return absl::OkStatus();
    return launch_(context, epsilon_);
  }

 private:
  LaunchRows launch_;
  int64_t axis_;
  float epsilon_;
  NormalizedRows rows_;
};

template <bool kCentered, bool kAdds>
absl::StatusOr<std::unique_ptr<Kernel>> MakeLayer(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (spec.input_dtype(kAdds ? 2 : 1) != dtype)
    return absl::UnimplementedError("only where X and scale have the same type");
  for (int i = 1; i < 3; ++i) {
    if (!kAdds && spec.has_output(i) && spec.output_dtype(i) != DType::kFloat32)
      return absl::UnimplementedError("mean and deviation only in float32");
  }
  LaunchRows launch = nullptr;
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    launch = LaunchLayer<typename decltype(tag)::type, kCentered, kAdds>;
  });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<LayerNormalization>(
      launch, spec, kAdds ? NormalizedRows::kOfSum : NormalizedRows::kPlain);
}

// NarrowLayerNormalization and NarrowRMSNormalization: of X, or of X + Z with the sum in float.
template <bool kCentered>
absl::StatusOr<std::unique_ptr<Kernel>> MakeNarrow(const NodeSpec& spec) {
  if (spec.has_input(1) != spec.has_output(1))
    return absl::UnimplementedError("only a sum that is read");
  LaunchRows launch = nullptr;
  DispatchDType(TypeList<Float16, BFloat16>(), spec.output_dtype(0), [&](auto tag) {
    using R = typename decltype(tag)::type;
    if (!spec.has_input(1) || spec.input_dtype(1) == DType::kFloat32)
      launch = LaunchNarrow<float, R, kCentered>;
    else if (spec.input_dtype(1) == spec.output_dtype(0))
      launch = LaunchNarrow<R, R, kCentered>;
  });
  if (launch == nullptr) return absl::UnimplementedError("only Z of float32 or of Y's type");
  return std::make_unique<LayerNormalization>(launch, spec, NormalizedRows::kOfSumNarrow);
}

constexpr KernelEntry kKernels[] = {
    {"", "LayerNormalization", "layer_normalization_cuda", MakeLayer<true, false>},
    {"", "RMSNormalization", "rms_normalization_cuda", MakeLayer<false, false>},
    {"onward", "AddLayerNormalization", "add_layer_normalization_cuda", MakeLayer<true, true>},
    {"onward", "AddRMSNormalization", "add_rms_normalization_cuda", MakeLayer<false, true>},
    {"onward", "NarrowLayerNormalization", "narrow_layer_normalization_cuda", MakeNarrow<true>},
    {"onward", "NarrowRMSNormalization", "narrow_rms_normalization_cuda", MakeNarrow<false>},
};

}  // namespace

KernelList NormalizationKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
