// onward.ChannelsLastMaxPool and onward.ChannelsLastGlobalAveragePool of floats.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/shapes/pool.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 32 * 1024;  // elements that are read
constexpr int64_t kChannels = 64;      // whose means a chunk computes

struct MaxPoolState {
  WindowAxis rows, columns;
  int64_t batch, channels;
};

class LastMaxPool : public Kernel {
 public:
  LastMaxPool(const ChannelsLastLoops& loops, PoolAttributes attributes)
      : loops_(loops), attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0);
    if (x.size() != 4) return absl::InvalidArgumentError("x has not two spatial axes");
    ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g,
                            PoolDims(attributes_, Dims{x[0], x[3], x[1], x[2]}));
    const Dims& y = g.output;
    context.SetOutput(0, {y[0], y[2], y[3], y[1]});
    *context.NewState<MaxPoolState>() = {g.axes[0], g.axes[1], x[0], x[3]};
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<MaxPoolState>();
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const int64_t row = s.rows.kernel * s.columns.kernel * s.columns.output * s.channels;
    context.ParallelFor(s.batch * s.rows.output, CeilDiv(kGrain, row),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) Row(context, s, i);
                        });
    return absl::OkStatus();
  }

 private:
  void Row(const RunContext& context, const MaxPoolState& s, int64_t row) const {
    const int64_t c = s.channels, start = s.rows.start(row % s.rows.output);
    const int64_t pixel = c * loops_.element_bytes;
    const char* image =
        context.in<char>(0) + row / s.rows.output * s.rows.input * s.columns.input * pixel;
    char* y = context.out<char>(0) + row * s.columns.output * pixel;
    for (int64_t column = 0; column < s.columns.output; ++column, y += pixel) {
      const int64_t left = s.columns.start(column);
      bool first = true;
      for (int64_t i = s.rows.first_tap(start); i < s.rows.last_tap(start); ++i) {
        const char* line = image + (start + i * s.rows.dilation) * s.columns.input * pixel;
        const int64_t begin = s.columns.first_tap(left);
        const int64_t taps = s.columns.last_tap(left) - begin;
        if (taps <= 0) continue;
        loops_.greatest(line + (left + begin * s.columns.dilation) * pixel, s.columns.dilation * c,
                        taps, first, c, y);
        first = false;
      }
      if (first) FillLowest(c, y);
    }
  }

  // The greatest of none, of windows of padding alone.
  void FillLowest(int64_t count, char* y) const {
    if (loops_.element_bytes == 4) {
      std::fill_n(reinterpret_cast<float*>(y), count, -std::numeric_limits<float>::infinity());
    } else {
      std::fill_n(reinterpret_cast<uint16_t*>(y), count, uint16_t{0xff80});
    }
  }

  const ChannelsLastLoops& loops_;
  const PoolAttributes attributes_;
};

class LastGlobalAverage : public Kernel {
 public:
  explicit LastGlobalAverage(const ChannelsLastLoops& loops) : loops_(loops) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0);
    if (x.size() != 4) return absl::InvalidArgumentError("x has not two spatial axes");
    context.SetOutput(0, {x[0], x[3], 1, 1});
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const DimsView x = context.input(0).dims;
    const int64_t channels = x[3], pixels = x[1] * x[2];
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const int64_t pieces = CeilDiv(channels, kChannels);
    context.ParallelFor(x[0] * pieces, CeilDiv(kGrain, std::max<int64_t>(1, pixels * kChannels)),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            const int64_t image = i / pieces, c = i % pieces * kChannels;
                            const int64_t count = std::min(kChannels, channels - c);
                            const char* from =
                                context.in<char>(0) +
                                (image * pixels * channels + c) * loops_.element_bytes;
                            float sums[kChannels];
                            loops_.add_pixels(from, channels, pixels, count, sums);
                            float* y = context.out<float>(0) + image * channels + c;
                            for (int64_t j = 0; j < count; ++j)
                              y[j] = sums[j] / static_cast<float>(pixels);
                          }
                        });
    return absl::OkStatus();
  }

 private:
  const ChannelsLastLoops& loops_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxPool(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  ONWARD_ASSIGN_OR_RETURN(const ChannelsLastLoops* loops, LastLoopsOf(spec, spec.input_dtype(0)));
  if (attributes.window.kernel.size() != 2) return absl::UnimplementedError("two spatial axes");
  return std::make_unique<LastMaxPool>(*loops, std::move(attributes));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGlobalAverage(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const ChannelsLastLoops* loops, LastLoopsOf(spec, spec.input_dtype(0)));
  return std::make_unique<LastGlobalAverage>(*loops);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ChannelsLastGlobalAveragePool", "channels_last_global_average", MakeGlobalAverage,
     kVectorTargets},
    {"onward", "ChannelsLastGlobalAveragePool", "channels_last_global_average_bf16",
     MakeGlobalAverage, kBf16Targets},
    {"onward", "ChannelsLastMaxPool", "channels_last_max_pool_float", MakeMaxPool, kVectorTargets},
    {"onward", "ChannelsLastMaxPool", "channels_last_max_pool_bf16", MakeMaxPool, kBf16Targets},
};

}  // namespace

KernelList ChannelsLastPoolKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
