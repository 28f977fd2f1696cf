// BatchNormalization: inference and training. Statistics are per channel (axis 1).
#include "kernels/bind/batch_normalization.h"

#include <algorithm>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/moments.h"

namespace onward::kernels::cpu {
namespace {

// scale, B, mean and var have dtypes of their own.
float ReadFloat(const TensorView& view, int64_t index) {
  float value = 0;
  DispatchDType(TypeList<float, Float16, BFloat16>(), view.dtype, [&](auto tag) {
    value = static_cast<float>(view.as<const typename decltype(tag)::type>()[index]);
  });
  return value;
}

double Read(const TensorView& view, int64_t index) {
  if (view.dtype == DType::kFloat64) return view.as<const double>()[index];
  return static_cast<double>(ReadFloat(view, index));
}

void Write(const TensorView& view, int64_t index, double value) {
  DispatchDType(FloatTypes(), view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    view.as<T>()[index] = static_cast<T>(static_cast<ComputeType<T>>(value));
  });
}

// y = x * factor + offset over the elements [begin, end) of [batch, channels].
template <typename T>
void ApplyElements(int64_t channels, const T* in, const ComputeType<T>* factors, T* out,
                   int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  while (begin < end) {
    const int64_t channel = begin % channels, count = std::min(channels - channel, end - begin);
    const C *factor = factors + channel, *offset = factor + channels;
    const T* x = in + begin;
    T* y = out + begin;
    for (int64_t i = 0; i < count; ++i)
      y[i] = static_cast<T>(static_cast<C>(x[i]) * factor[i] + offset[i]);
    begin += count;
  }
}

// y = x * factor + offset over the rows [begin, end) of [batch * channels, spatial]. All factors
// lie before all offsets.
template <typename T>
void ApplyRows(const BatchRows& plan, const void* in, const void* coefficients, void* out,
               int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  const C* factors = static_cast<const C*>(coefficients);
  if (plan.spatial == 1) {
    return ApplyElements(plan.channels, static_cast<const T*>(in), factors, static_cast<T*>(out),
                         begin, end);
  }
  for (int64_t row = begin; row < end; ++row) {
    const int64_t channel = row % plan.channels;
    const C factor = factors[channel], offset = factors[plan.channels + channel];
    const T* x = static_cast<const T*>(in) + row * plan.spatial;
    T* y = static_cast<T*>(out) + row * plan.spatial;
    for (int64_t i = 0; i < plan.spatial; ++i)
      y[i] = static_cast<T>(static_cast<C>(x[i]) * factor + offset);
  }
}

// Mean and variance of one channel over batch and space; variances around the rows' means combine
// by Chan's formula.
template <typename T>
void ChannelMoments(const BatchRows& plan, const void* in, int64_t channel, double* mean,
                    double* variance) {
  double count = 0, average = 0, squares = 0;
  const double n = static_cast<double>(plan.spatial);
  for (int64_t b = 0; b < plan.batch && plan.spatial > 0; ++b) {
    const T* x = static_cast<const T*>(in) + (b * plan.channels + channel) * plan.spatial;
    const auto moments = ComputeMoments<T>(x, plan.spatial);
    const double delta = static_cast<double>(moments.mean) - average;
    squares += static_cast<double>(moments.variance) * n + delta * delta * count * n / (count + n);
    average += delta * n / (count + n);
    count += n;
  }
  *mean = count > 0 ? average : std::numeric_limits<double>::quiet_NaN();
  *variance = squares / count;
}

struct BatchLoops {
  void (*apply)(const BatchRows&, const void*, const void*, void*, int64_t, int64_t) = nullptr;
  void (*moments)(const BatchRows&, const void*, int64_t, double*, double*) = nullptr;
  bool is_double = false;
};

class BatchNormalization : public Kernel {
 public:
  BatchNormalization(BatchLoops loops, float epsilon, float momentum, bool training,
                     SeveralValues several)
      : loops_(loops),
        epsilon_(epsilon),
        momentum_(momentum),
        training_(training),
        several_(several) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const BatchRows rows, BindBatchNormalization(context, several_));
    *context.NewState<BatchRows>() = rows;
    context.SetScratch(2 * rows.channels *
                       static_cast<int64_t>(loops_.is_double ? sizeof(double) : sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const BatchRows& plan = context.state<BatchRows>();
    const void* in = context.input(0).data;
    const int64_t channel_grain =
        training_
            ? std::max<int64_t>(1, kCheapGrain / std::max<int64_t>(1, plan.batch * plan.spatial))
            : kMathGrain;
    context.ParallelFor(plan.channels, channel_grain, [&](int64_t begin, int64_t end) {
      if (!training_ && AllFloat(context)) return PrepareFloats(context, begin, end);
      for (int64_t channel = begin; channel < end; ++channel) PrepareChannel(context, channel);
    });
    void* out = context.output(0).data;
    const int64_t grain = std::max<int64_t>(1, kCheapGrain / std::max<int64_t>(1, plan.spatial));
    context.ParallelFor(plan.batch * plan.channels, grain, [&](int64_t begin, int64_t end) {
      loops_.apply(plan, in, context.scratch<std::byte>(), out, begin, end);
    });
    return absl::OkStatus();
  }

 private:
  static bool AllFloat(const RunContext& context) {
    for (int i = 0; i < 5; ++i)
      if (context.input(i).dtype != DType::kFloat32) return false;
    return true;
  }
  // As PrepareChannel, of [begin, end).
  void PrepareFloats(const RunContext& context, int64_t begin, int64_t end) const {
    const float *scale = context.in<float>(1), *bias = context.in<float>(2);
    const float *mean = context.in<float>(3), *variance = context.in<float>(4);
    float* factors = context.scratch<float>();
    float* offsets = factors + context.state<BatchRows>().channels;
    const double epsilon = static_cast<double>(epsilon_);
    for (int64_t c = begin; c < end; ++c) {
      const double factor =
          static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
      factors[c] = static_cast<float>(factor);
      offsets[c] =
          static_cast<float>(static_cast<double>(bias[c]) - static_cast<double>(mean[c]) * factor);
    }
  }

  // Finds the channel's statistics, updates the running ones and writes y's coefficients.
  void PrepareChannel(const RunContext& context, int64_t channel) const {
    double mean = Read(context.input(3), channel), variance = Read(context.input(4), channel);
    if (training_) {
      const double running_mean = mean, running_variance = variance;
      loops_.moments(context.state<BatchRows>(), context.input(0).data, channel, &mean, &variance);
      const double keep = momentum_;
      if (context.has_output(1))
        Write(context.output(1), channel, running_mean * keep + mean * (1 - keep));
      if (context.has_output(2))
        Write(context.output(2), channel, running_variance * keep + variance * (1 - keep));
    }
    const double factor =
        Read(context.input(1), channel) / std::sqrt(variance + static_cast<double>(epsilon_));
    const double offset = Read(context.input(2), channel) - mean * factor;
    const int64_t channels = context.state<BatchRows>().channels;
    if (loops_.is_double) {
      context.scratch<double>()[channel] = factor;
      context.scratch<double>()[channels + channel] = offset;
    } else {
      context.scratch<float>()[channel] = static_cast<float>(factor);
      context.scratch<float>()[channels + channel] = static_cast<float>(offset);
    }
  }

  BatchLoops loops_;
  float epsilon_, momentum_;
  bool training_;
  SeveralValues several_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeBatchNormalization(const NodeSpec& spec) {
  BatchLoops loops;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    loops = {ApplyRows<T>, ChannelMoments<T>, std::is_same_v<T, double>};
  });
  if (loops.apply == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<BatchNormalization>(
      loops, spec.attributes().Float("epsilon", 1e-5f), spec.attributes().Float("momentum", 0.9f),
      spec.attributes().Int("training_mode", 0) != 0, SeveralValues(spec));
}

constexpr KernelEntry kKernels[] = {
    {"", "BatchNormalization", "batch_normalization_reference", MakeBatchNormalization},
};

}  // namespace

KernelList ReferenceBatchNormalization() { return kKernels; }

}  // namespace onward::kernels::cpu
