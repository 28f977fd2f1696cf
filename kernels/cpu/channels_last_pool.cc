// onward.ChannelsLastMaxPool and onward.ChannelsLastGlobalAveragePool of floats.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "kernels/bind/pool.h"
#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 32 * 1024;  // elements that are read
constexpr int64_t kParts = 8;          // of many pixels

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

// Sums by channels, or, where pixels are many, by parts of them that are added up in their order.
class LastGlobalAverage : public Kernel {
 public:
  explicit LastGlobalAverage(const ChannelsLastLoops& loops) : loops_(loops) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0);
    if (x.size() != 4) return absl::InvalidArgumentError("x has not two spatial axes");
    context.SetOutput(0, {x[0], x[3], 1, 1});
    if (x[1] * x[2] >= kManyPixels)
      context.SetScratch(x[0] * kParts * x[3] * static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const DimsView x = context.input(0).dims;
    const int64_t channels = x[3], pixels = x[1] * x[2];
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const auto add = [&](int64_t pixel, int64_t count, int64_t channel, int64_t width, float* to) {
      const int64_t at = (pixel * channels + channel) * loops_.element_bytes;
      loops_.add_pixels(context.in<char>(0) + at, channels, count, width, to);
    };
    float* y = context.out<float>(0);
    if (pixels < kManyPixels) {
      const int64_t blocks = CeilDiv(channels, kBlockChannels);
      const int64_t grain = CeilDiv(kGrain, std::max<int64_t>(1, pixels * kBlockChannels));
      context.ParallelFor(x[0] * blocks, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t image = i / blocks, c = i % blocks * kBlockChannels;
          add(image * pixels, pixels, c, std::min(kBlockChannels, channels - c),
              y + image * channels + c);
        }
      });
    } else {
      AddParts(context, x[0], pixels, channels, add);
    }
    for (int64_t i = 0; i < x[0] * channels; ++i) y[i] /= static_cast<float>(pixels);
    return absl::OkStatus();
  }

 private:
  // A thread reads the rows that it has in its cache: convolutions of large images leave them so.
  template <typename Add>
  static void AddParts(RunContext& context, int64_t images, int64_t pixels, int64_t channels,
                       Add&& add) {
    auto* parts = context.scratch<float>();
    context.ParallelFor(images * kParts, CeilDiv(kGrain, CeilDiv(pixels, kParts) * channels),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            const int64_t first = i % kParts * pixels / kParts;
                            const int64_t last = (i % kParts + 1) * pixels / kParts;
                            add(i / kParts * pixels + first, last - first, 0, channels,
                                parts + i * channels);
                          }
                        });
    float* y = context.out<float>(0);
    for (int64_t i = 0; i < images; ++i, y += channels) {
      std::fill_n(y, channels, 0.0f);
      for (int64_t part = 0; part < kParts; ++part, parts += channels)
        for (int64_t c = 0; c < channels; ++c) y[c] += parts[c];
    }
  }

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
