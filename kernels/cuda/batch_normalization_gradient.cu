// The gradient of BatchNormalization with the statistics of the batch
// (graph/gradients/batch_normalization.cc). X, or dY and dX, may have 16 bits.
#include <cmath>

#include "kernels/cuda/batch_normalization.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

// dX = x * x_factor + dY * factor + offset. The mean comes first, for the sums that give the rest.
template <typename C>
struct GradientCoefficients {
  C mean, x_factor, factor, offset;
};

// Sums of dY and of dY (x - mean).
template <typename C>
struct GradientSums {
  C sum, product;
};

// dY and dX of type R.
template <typename R, typename T>
struct GradientOperands {
  const T* scale;
  const R* dy;
  R* dx;
  T *dscale, *dbias;  // may be null
  float epsilon;
};

template <typename C>
__global__ void FindMeans(const Moments<C>* moments, GradientCoefficients<C>* coefficients,
                          ChannelParts p) {
  for (int64_t i = GlobalIndex(); i < p.rows.channels; i += GlobalSize())
    coefficients[i].mean = MomentsOfChannel(moments, p, i).mean;
}

template <typename S, typename R, typename T>
__global__ void SumsOfParts(const S* x, const R* dy, const GradientCoefficients<T>* coefficients,
                            GradientSums<T>* sums, ChannelParts p) {
  const int64_t blocks = p.rows.channels * p.parts;
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t channel = Quotient(block, p.parts), part = block - channel * p.parts;
    const T mean = coefficients[channel].mean;
    T sum = 0, product = 0;
    ForEachOfPart(p, channel, part, [&](int64_t at) {
      const T gradient = Load(dy[at]);
      sum += gradient;
      product += gradient * (static_cast<T>(Load(x[at])) - mean);
    });
    sum = CombineBlock<functors::Add>(sum);
    product = CombineBlock<functors::Add>(product);
    if (threadIdx.x == 0) sums[block] = {sum, product};
  }
}

template <typename R, typename T>
__global__ void FinishChannels(GradientOperands<R, T> o, const Moments<T>* moments,
                               const GradientSums<T>* sums, GradientCoefficients<T>* coefficients,
                               ChannelParts p) {
  for (int64_t i = GlobalIndex(); i < p.rows.channels; i += GlobalSize()) {
    const Moments<T> all = MomentsOfChannel(moments, p, i);
    T sum = 0, product = 0;
    for (int64_t part = 0; part < p.parts; ++part) {
      sum += sums[i * p.parts + part].sum;
      product += sums[i * p.parts + part].product;
    }
    const T inverse = T(1) / std::sqrt(all.squares / all.count + static_cast<T>(o.epsilon));
    if (o.dscale != nullptr) o.dscale[i] = product * inverse;
    if (o.dbias != nullptr) o.dbias[i] = sum;
    // dX = scale inverse (dY - mean(dY) - (x - mean) inverse^2 mean(dY (x - mean)))
    const T factor = o.scale[i] * inverse;
    const T x_factor = -factor * inverse * inverse * product / all.count;
    coefficients[i] = {all.mean, x_factor, factor, -factor * sum / all.count - x_factor * all.mean};
  }
}

// A thread reads only what it writes of dY, so that dX may be dY.
template <typename S, typename R, typename T, int kPack>
__global__ void ApplyGradient(const S* x, GradientOperands<R, T> o,
                              const GradientCoefficients<T>* coefficients, int64_t packs,
                              int64_t packs_per_row, int64_t channels) {
  for (int64_t p = GlobalIndex(); p < packs; p += GlobalSize()) {
    const int64_t row = Quotient(p, packs_per_row);
    const GradientCoefficients<T> c = coefficients[row - Quotient(row, channels) * channels];
    const Pack<S, kPack> of_x = LoadPack<kPack>(x + p * kPack);
    Pack<R, kPack> pack = LoadPack<kPack>(o.dy + p * kPack);
    for (int i = 0; i < kPack; ++i) {
      const T gradient = Load(pack.elements[i]);
      pack.elements[i] = Rounded<R>(static_cast<T>(Load(of_x.elements[i])) * c.x_factor +
                                    gradient * c.factor + c.offset);
    }
    StorePack(pack, o.dx + p * kPack);
  }
}

template <typename S, typename R, typename T, int kPack>
absl::Status LaunchApply(const S* x, const GradientOperands<R, T>& o,
                         const GradientCoefficients<T>* coefficients, const BatchRows& rows,
                         cudaStream_t stream) {
  const int64_t per_row = rows.spatial / kPack, packs = rows.batch * rows.channels * per_row;
  if (packs == 0) return absl::OkStatus();
  return Launch(ApplyGradient<S, R, T, kPack>, Blocks(packs), kThreads, 0, stream, x, o,
                coefficients, packs, per_row, rows.channels);
}

using LaunchGradient = absl::Status (*)(const RunContext& context, float epsilon);

template <typename S, typename R>
absl::Status LaunchBatchGradient(const RunContext& context, float epsilon) {
  using T = ComputeType<S>;
  const auto& parts = context.state<ChannelParts>();
  const int64_t channels = parts.rows.channels;
  cudaStream_t stream = StreamOf(context);
  const S* x = context.in<S>(0);
  GradientOperands<R, T> o = {context.in<T>(1), context.in<R>(2), context.out<R>(0),
                              nullptr,          nullptr,          epsilon};
  if (context.has_output(1)) o.dscale = context.out<T>(1);
  if (context.has_output(2)) o.dbias = context.out<T>(2);
  auto* coefficients = context.scratch<GradientCoefficients<T>>();
  auto* moments = reinterpret_cast<Moments<T>*>(coefficients + channels);
  auto* sums = reinterpret_cast<GradientSums<T>*>(moments + parts.num_blocks());
  const unsigned of_channels = Blocks(channels), of_parts = Blocks(parts.num_blocks() * kThreads);
  ONWARD_RETURN_IF_ERROR(LaunchMoments(x, parts, moments, stream));
  ONWARD_RETURN_IF_ERROR(
      Launch(FindMeans<T>, of_channels, kThreads, 0, stream, moments, coefficients, parts));
  ONWARD_RETURN_IF_ERROR(Launch(SumsOfParts<S, R, T>, of_parts, kThreads, 0, stream, x, o.dy,
                                coefficients, sums, parts));
  ONWARD_RETURN_IF_ERROR(Launch(FinishChannels<R, T>, of_channels, kThreads, 0, stream, o, moments,
                                sums, coefficients, parts));
  constexpr int kPack = kPackOf<S, R>;
  if (parts.rows.spatial % kPack == 0 && ArePackAligned({x, o.dy, o.dx}))
    return LaunchApply<S, R, T, kPack>(x, o, coefficients, parts.rows, stream);
  return LaunchApply<S, R, T, 1>(x, o, coefficients, parts.rows, stream);
}

class BatchNormalizationGradient : public Kernel {
 public:
  BatchNormalizationGradient(LaunchGradient launch, int64_t element, float epsilon)
      : launch_(launch), element_(element), epsilon_(epsilon) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const BatchRows rows, BindBatchNormalizationGradient(context));
    const auto* parts = &(*context.NewState<ChannelParts>() = ChannelParts(rows));
    // Four coefficients a channel; three moments and two sums a part.
    context.SetScratch((rows.channels * 4 + parts->num_blocks() * 5) * element_);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    if (context.state<ChannelParts>().rows.channels == 0) return absl::OkStatus();
    return launch_(context, epsilon_);
  }

 private:
  LaunchGradient launch_;
  int64_t element_;  // bytes of what it is computed in
  float epsilon_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeBatchNormalizationGradient(const NodeSpec& spec) {
  const DType x = spec.input_dtype(0), scale = spec.input_dtype(1), dy = spec.input_dtype(2);
  LaunchGradient launch = nullptr;
  DispatchDType(FloatTypes(), x, [&](auto tag) {
    using S = typename decltype(tag)::type;
    using T = ComputeType<S>;
    if (scale != kDTypeOf<T>) return;
    if (dy == scale) launch = LaunchBatchGradient<S, T>;
    if (dy == x) launch = LaunchBatchGradient<S, S>;
  });
  if (launch == nullptr) return NoLoopFor(x);
  return std::make_unique<BatchNormalizationGradient>(launch, BitSize(scale) / 8,
                                                      spec.attributes().Float("epsilon", 1e-5f));
}

constexpr KernelEntry kKernels[] = {{"onward", "BatchNormalizationGradient",
                                     "batch_normalization_gradient_cuda",
                                     MakeBatchNormalizationGradient}};

}  // namespace

KernelList BatchNormalizationGradientKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
