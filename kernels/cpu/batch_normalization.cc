// BatchNormalization with the statistics of the batch, and its gradient, in float32: a channel at a
// time, so that what a second walk reads is still in the cache. The gradient's X may be kept in 16
// bits: it is widened a channel at a time.
#include "kernels/bind/batch_normalization.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/saved_floats.h"
#include "kernels/cpu/simd/row_loops.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // elements

// Channels that one thread takes at a time.
int64_t GrainOf(const BatchRows& rows) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, rows.count()));
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
        rows.channels, GrainOf(rows), [&](int worker, int64_t begin, int64_t end) {
          float* scratch = narrow_ ? context.scratch<float>() + worker * rows.count() : nullptr;
          for (int64_t channel = begin; channel < end; ++channel)
            RunChannel(context, rows, RowsOfChannel(x, rows, channel, scratch), channel);
        });
    return absl::OkStatus();
  }

 protected:
  absl::Status KeepRows(BindContext& context, const absl::StatusOr<BatchRows>& bound) const {
    ONWARD_ASSIGN_OR_RETURN(const BatchRows rows, bound);
    *context.NewState<BatchRows>() = rows;
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
    return KeepRows(context, BindBatchNormalization(context, several_));
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
    return KeepRows(context, BindBatchNormalizationGradient(context));
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
