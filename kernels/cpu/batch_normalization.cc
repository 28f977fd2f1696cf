// BatchNormalization with the statistics of the batch, and its gradient, in float32: a channel at a
// time, so that what a second walk reads is still in the cache. The gradient's X may be kept in 16
// bits: it is widened a channel at a time.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/saved_floats.h"
#include "kernels/cpu/several_values.h"
#include "kernels/cpu/simd/row_loops.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // elements that one thread takes at a time

struct BatchRows {
  int64_t batch, channels, spatial;

  int64_t count() const { return batch * spatial; }
  int64_t row(int64_t b, int64_t channel) const { return (b * channels + channel) * spatial; }
  int64_t grain() const { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, count())); }
};

absl::StatusOr<BatchRows> RowsOf(DimsView x) {
  if (x.size() < 2)
    return absl::InvalidArgumentError(absl::StrCat("X ", DimsString(x), " has no channels"));
  return BatchRows{x[0], x[1], NumElements(x.subspan(2))};
}

absl::Status CheckChannels(const BindContext& context, const BatchRows& rows, int first, int last) {
  for (int i = first; i < last; ++i) {
    if (NumElements(context.input_dims(i)) == rows.channels) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " has shape ", DimsString(context.input_dims(i)),
                     ", must have one element for each of ", rows.channels, " channels"));
  }
  return absl::OkStatus();
}

// Rows of one channel of X: that of image b lies at first + b * step.
struct ChannelRows {
  const float* first;
  int64_t step;
};

// Widened to `scratch`, where X is narrow: room for rows.count() floats.
ChannelRows RowsOfChannel(const SavedFloats& x, const BatchRows& rows, int64_t channel,
                          float* scratch) {
  if (!x.narrow()) return {x.Read(rows.row(0, channel), 0, nullptr), rows.channels * rows.spatial};
  for (int64_t b = 0; b < rows.batch; ++b)
    x.Read(rows.row(b, channel), rows.spatial, scratch + b * rows.spatial);
  return {scratch, rows.spatial};
}

struct Moments {
  double mean = 0, variance = 0;
};

// Over batch and space; variances around the rows' means combine by Chan's formula.
Moments MomentsOf(const RowLoops& loops, const BatchRows& rows, const ChannelRows& x) {
  double count = 0, squares = 0;
  Moments all;
  const double n = static_cast<double>(rows.spatial);
  for (int64_t b = 0; b < rows.batch && rows.spatial > 0; ++b) {
    float mean, variance;
    loops.moments(x.first + b * x.step, rows.spatial, &mean, &variance);
    const double delta = static_cast<double>(mean) - all.mean;
    squares += static_cast<double>(variance) * n + delta * delta * count * n / (count + n);
    all.mean += delta * n / (count + n);
    count += n;
  }
  if (count == 0) all.mean = std::numeric_limits<double>::quiet_NaN();
  all.variance = squares / count;
  return all;
}

// Both kernels: outputs like X and, where they are wanted, two more of a number per channel; each
// channel by itself.
class ChannelKernel : public Kernel {
 public:
  ChannelKernel(const RowLoops& loops, float epsilon, bool narrow)
      : loops_(loops), epsilon_(epsilon), narrow_(narrow) {}

  absl::Status Run(RunContext& context) const override {
    const auto& rows = context.state<BatchRows>();
    const SavedFloats x(context.input(0));
    context.ParallelForWorkers(
        rows.channels, rows.grain(), [&](int worker, int64_t begin, int64_t end) {
          float* scratch = narrow_ ? context.scratch<float>() + worker * rows.count() : nullptr;
          for (int64_t channel = begin; channel < end; ++channel)
            RunChannel(context, rows, RowsOfChannel(x, rows, channel, scratch), channel);
        });
    return absl::OkStatus();
  }

 protected:
  // Inputs [first, last) have an element per channel; output 0 may take the place of `in_place`.
  absl::Status BindChannels(BindContext& context, int first, int last, int in_place) const {
    ONWARD_ASSIGN_OR_RETURN(const BatchRows rows, RowsOf(context.input_dims(0)));
    ONWARD_RETURN_IF_ERROR(CheckChannels(context, rows, first, last));
    *context.NewState<BatchRows>() = rows;
    context.SetOutput(0, context.input_dims(0));
    context.AllowInPlace(0, in_place);
    for (int i = 1; i < 3; ++i) {
      if (context.has_output(i)) context.SetOutput(i, {rows.channels});
    }
    if (narrow_) {
      context.SetScratch(context.num_workers() * rows.count() *
                         static_cast<int64_t>(sizeof(float)));
    }
    return absl::OkStatus();
  }
  virtual void RunChannel(const RunContext& context, const BatchRows& rows, const ChannelRows& x,
                          int64_t channel) const = 0;

  const RowLoops& loops_;
  const float epsilon_;
  const bool narrow_;  // X is
};

class BatchNormalization : public ChannelKernel {
 public:
  BatchNormalization(const RowLoops& loops, float epsilon, float momentum, SeveralValues several)
      : ChannelKernel(loops, epsilon, false), momentum_(momentum), several_(several) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(several_.Check(context.input_dims(0)));
    return BindChannels(context, 1, 5, 0);
  }

 protected:
  void RunChannel(const RunContext& context, const BatchRows& rows, const ChannelRows& x,
                  int64_t channel) const override {
    const Moments batch = MomentsOf(loops_, rows, x);
    const double keep = momentum_;
    const auto update = [&](int output, float running, double now) {
      if (!context.has_output(output)) return;
      context.out<float>(output)[channel] =
          static_cast<float>(static_cast<double>(running) * keep + now * (1 - keep));
    };
    update(1, context.in<float>(3)[channel], batch.mean);
    update(2, context.in<float>(4)[channel], batch.variance);
    const double factor = static_cast<double>(context.in<float>(1)[channel]) /
                          std::sqrt(batch.variance + static_cast<double>(epsilon_));
    const double offset = static_cast<double>(context.in<float>(2)[channel]) - batch.mean * factor;
    for (int64_t b = 0; b < rows.batch; ++b) {
      const int64_t at = rows.row(b, channel);
      loops_.affine(x.first + b * x.step, rows.spatial, static_cast<float>(factor),
                    static_cast<float>(offset), context.out<float>(0) + at);
    }
  }

 private:
  const float momentum_;
  const SeveralValues several_;
};

// Inputs X, scale, dY; outputs dX, dscale, dB (graph/gradients/batch_normalization.cc).
class BatchNormalizationGradient : public ChannelKernel {
 public:
  using ChannelKernel::ChannelKernel;

  absl::Status Bind(BindContext& context) const override {
    if (context.input_dims(2) != context.input_dims(0)) {
      return absl::InvalidArgumentError(absl::StrCat("dY is ", DimsString(context.input_dims(2)),
                                                     ", X ", DimsString(context.input_dims(0))));
    }
    return BindChannels(context, 1, 2, 2);
  }

 protected:
  void RunChannel(const RunContext& context, const BatchRows& rows, const ChannelRows& x,
                  int64_t channel) const override {
    const float* dy = context.in<float>(2);
    const Moments batch = MomentsOf(loops_, rows, x);
    double sum = 0, product = 0;
    for (int64_t b = 0; b < rows.batch; ++b) {
      double row_sum, row_product;
      const int64_t at = rows.row(b, channel);
      loops_.products(x.first + b * x.step, dy + at, rows.spatial, static_cast<float>(batch.mean),
                      &row_sum, &row_product);
      sum += row_sum;
      product += row_product;
    }
    const double n = static_cast<double>(rows.count());
    const double inverse = 1 / std::sqrt(batch.variance + static_cast<double>(epsilon_));
    if (context.has_output(1))
      context.out<float>(1)[channel] = static_cast<float>(product * inverse);
    if (context.has_output(2)) context.out<float>(2)[channel] = static_cast<float>(sum);
    // dX = scale inverse (dY - mean(dY) - (x - mean) inverse^2 mean(dY (x - mean)))
    const double scale = static_cast<double>(context.in<float>(1)[channel]) * inverse;
    const double x_factor = -scale * inverse * inverse * product / n;
    const double offset = -scale * sum / n - x_factor * batch.mean;
    for (int64_t b = 0; b < rows.batch; ++b) {
      const int64_t at = rows.row(b, channel);
      loops_.combine(x.first + b * x.step, dy + at, rows.spatial, static_cast<float>(x_factor),
                     static_cast<float>(scale), static_cast<float>(offset),
                     context.out<float>(0) + at);
    }
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeBatchNormalization(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  if (spec.attributes().Int("training_mode", 0) == 0)
    return absl::UnimplementedError("statistics of the batch only");
  return std::make_unique<BatchNormalization>(
      kRowsPerTarget.For(TargetOf(spec))(), spec.attributes().Float("epsilon", 1e-5f),
      spec.attributes().Float("momentum", 0.9f), SeveralValues(spec));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBatchNormalizationGradient(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec, 0));
  return std::make_unique<BatchNormalizationGradient>(kRowsPerTarget.For(TargetOf(spec))(),
                                                      spec.attributes().Float("epsilon", 1e-5f),
                                                      IsSavedNarrow(spec.input_dtype(0)));
}

constexpr KernelEntry kKernels[] = {
    {"", "BatchNormalization", "batch_normalization", MakeBatchNormalization, kVectorTargets},
    {"onward", "BatchNormalizationGradient", "batch_normalization_gradient",
     MakeBatchNormalizationGradient, kVectorTargets},
};

}  // namespace

KernelList BatchNormalizationKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
