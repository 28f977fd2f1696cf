// BatchNormalization, with given statistics and, in training, with those of the batch.
#include <cmath>

#include "kernels/cuda/batch_normalization.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

struct BatchAttributes {
  float epsilon, momentum;
};

// One element for each channel; the outputs may be null.
template <typename P>
struct ChannelOperands {
  const P *scale, *bias, *mean, *variance;
  P *new_mean, *new_variance;
};

// y = x * factor + offset
template <typename C>
struct Coefficients {
  C factor, offset;
};

template <typename P, typename C>
__device__ Coefficients<C> CoefficientsOf(const ChannelOperands<P>& o, int64_t channel, C mean,
                                          C variance, float epsilon) {
  const C factor =
      static_cast<C>(Load(o.scale[channel])) / std::sqrt(variance + static_cast<C>(epsilon));
  return {factor, static_cast<C>(Load(o.bias[channel])) - mean * factor};
}

template <typename P, typename C>
__global__ void PrepareGiven(ChannelOperands<P> o, Coefficients<C>* coefficients, int64_t channels,
                             BatchAttributes a) {
  for (int64_t i = GlobalIndex(); i < channels; i += GlobalSize()) {
    coefficients[i] = CoefficientsOf(o, i, static_cast<C>(Load(o.mean[i])),
                                     static_cast<C>(Load(o.variance[i])), a.epsilon);
  }
}

template <typename P, typename C>
__device__ void StoreRunning(P* to, P before, C now, float momentum) {
  if (to == nullptr) return;
  const C keep = static_cast<C>(momentum);
  *to = Rounded<P>(
      static_cast<ComputeType<P>>(static_cast<C>(Load(before)) * keep + now * (C(1) - keep)));
}

template <typename P, typename C>
__global__ void PrepareMeasured(ChannelOperands<P> o, const Moments<C>* moments,
                                Coefficients<C>* coefficients, ChannelParts parts,
                                BatchAttributes a) {
  for (int64_t i = GlobalIndex(); i < parts.rows.channels; i += GlobalSize()) {
    const Moments<C> all = MomentsOfChannel(moments, parts, i);
    const C variance = all.squares / all.count;
    StoreRunning(o.new_mean == nullptr ? nullptr : o.new_mean + i, o.mean[i], all.mean, a.momentum);
    StoreRunning(o.new_variance == nullptr ? nullptr : o.new_variance + i, o.variance[i], variance,
                 a.momentum);
    coefficients[i] = CoefficientsOf(o, i, all.mean, variance, a.epsilon);
  }
}

// Rows are `packs_per_row` packs. A thread reads only what it writes, so that y may be x.
template <typename T, int kPack>
__global__ void ApplyCoefficients(const T* x, const Coefficients<ComputeType<T>>* coefficients,
                                  T* y, int64_t packs, int64_t packs_per_row, int64_t channels) {
  for (int64_t p = GlobalIndex(); p < packs; p += GlobalSize()) {
    const int64_t row = Quotient(p, packs_per_row);
    const auto of_channel = coefficients[row - Quotient(row, channels) * channels];
    Pack<T, kPack> pack = LoadPack<kPack>(x + p * kPack);
    for (T& element : pack.elements)
      element = Rounded<T>(Load(element) * of_channel.factor + of_channel.offset);
    StorePack(pack, y + p * kPack);
  }
}

template <typename T, int kPack>
absl::Status LaunchApply(const T* x, const Coefficients<ComputeType<T>>* coefficients, T* y,
                         const BatchRows& rows, cudaStream_t stream) {
  const int64_t per_row = rows.spatial / kPack, packs = rows.batch * rows.channels * per_row;
  if (packs == 0) return absl::OkStatus();
  return Launch(ApplyCoefficients<T, kPack>, Blocks(packs), kThreads, 0, stream, x, coefficients, y,
                packs, per_row, rows.channels);
}

template <typename P>
ChannelOperands<P> OperandsOf(const RunContext& context) {
  ChannelOperands<P> o = {context.in<P>(1), context.in<P>(2), context.in<P>(3),
                          context.in<P>(4), nullptr,          nullptr};
  if (context.has_output(1)) o.new_mean = context.out<P>(1);
  if (context.has_output(2)) o.new_variance = context.out<P>(2);
  return o;
}

using LaunchBatch = absl::Status (*)(const RunContext& context, BatchAttributes a);

template <typename T, typename P, bool kTraining>
absl::Status LaunchBatchNormalization(const RunContext& context, BatchAttributes a) {
  using C = ComputeType<T>;
  const auto& parts = context.state<ChannelParts>();
  const int64_t channels = parts.rows.channels;
  cudaStream_t stream = StreamOf(context);
  auto* coefficients = context.scratch<Coefficients<C>>();
  const T* x = context.in<T>(0);
  T* y = context.out<T>(0);
  if constexpr (kTraining) {
    auto* moments = reinterpret_cast<Moments<C>*>(coefficients + channels);
    ONWARD_RETURN_IF_ERROR(LaunchMoments(x, parts, moments, stream));
    ONWARD_RETURN_IF_ERROR(Launch(PrepareMeasured<P, C>, Blocks(channels), kThreads, 0, stream,
                                  OperandsOf<P>(context), moments, coefficients, parts, a));
  } else {
    ONWARD_RETURN_IF_ERROR(Launch(PrepareGiven<P, C>, Blocks(channels), kThreads, 0, stream,
                                  OperandsOf<P>(context), coefficients, channels, a));
  }
  constexpr int kPack = kPackOf<T>;
  if (parts.rows.spatial % kPack == 0 && ArePackAligned({x, y}))
    return LaunchApply<T, kPack>(x, coefficients, y, parts.rows, stream);
  return LaunchApply<T, 1>(x, coefficients, y, parts.rows, stream);
}

// Coefficients of each channel, then Moments of each part of it.
template <typename T>
int64_t ScratchBytes(const ChannelParts& parts, bool training) {
  using C = ComputeType<T>;
  const int64_t moments = training ? parts.num_blocks() : 0;
  return parts.rows.channels * static_cast<int64_t>(sizeof(Coefficients<C>)) +
         moments * static_cast<int64_t>(sizeof(Moments<C>));
}

struct BatchLoops {
  LaunchBatch launch = nullptr;
  int64_t (*scratch_bytes)(const ChannelParts& parts, bool training) = nullptr;
};

class BatchNormalization : public Kernel {
 public:
  BatchNormalization(BatchLoops loops, BatchAttributes attributes, bool training,
                     SeveralValues several)
      : loops_(loops), attributes_(attributes), training_(training), several_(several) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const BatchRows rows, BindBatchNormalization(context, several_));
    const auto* parts = &(*context.NewState<ChannelParts>() = ChannelParts(rows));
    context.SetScratch(loops_.scratch_bytes(*parts, training_));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    if (context.state<ChannelParts>().rows.channels == 0) return absl::OkStatus();
    return loops_.launch(context, attributes_);
  }

 private:
  BatchLoops loops_;
  BatchAttributes attributes_;
  bool training_;
  SeveralValues several_;
};

template <typename T, typename P>
BatchLoops LoopsFor(bool training) {
  return {training ? LaunchBatchNormalization<T, P, true> : LaunchBatchNormalization<T, P, false>,
          ScratchBytes<T>};
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBatchNormalization(const NodeSpec& spec) {
  const DType x = spec.input_dtype(0), parameters = spec.input_dtype(1);
  for (int i = 2; i < 5; ++i) {
    if (spec.input_dtype(i) != parameters)
      return absl::UnimplementedError("only where scale, B, mean and variance have one type");
  }
  const bool training = spec.attributes().Int("training_mode", 0) != 0;
  BatchLoops loops;
  DispatchDType(FloatTypes(), x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (parameters == x) {
      loops = LoopsFor<T, T>(training);
    } else if (parameters == DType::kFloat32) {
      loops = LoopsFor<T, float>(training);
    }
  });
  if (loops.launch == nullptr) return NoLoopFor(parameters == x ? x : parameters);
  return std::make_unique<BatchNormalization>(
      loops,
      BatchAttributes{spec.attributes().Float("epsilon", 1e-5f),
                      spec.attributes().Float("momentum", 0.9f)},
      training, SeveralValues(spec));
}

constexpr KernelEntry kKernels[] = {
    {"", "BatchNormalization", "batch_normalization_cuda", MakeBatchNormalization}};

}  // namespace

KernelList BatchNormalizationKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
