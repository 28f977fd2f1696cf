// onward.ToChannelsLast and onward.ToChannelsFirst: images of float32 with their channels first, to
// and from bfloat16 with their channels last.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/channels_last_loops.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // elements that a thread turns
constexpr int64_t kPixels = 64;        // of a piece: its lines of both sides stay in the cache

struct TurnState {
  int64_t images = 0, channels = 0, pixels = 0;
};

template <bool kToLast>
class Turn : public Kernel {
 public:
  explicit Turn(const ChannelsLastLoops& loops) : loops_(loops) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0);
    if (x.size() != 4) return absl::InvalidArgumentError("x has not two spatial axes");
    auto* s = context.NewState<TurnState>();
    if constexpr (kToLast) {
      context.SetOutput(0, {x[0], x[2], x[3], x[1]});
      *s = {x[0], x[1], x[2] * x[3]};
    } else {
      context.SetOutput(0, {x[0], x[3], x[1], x[2]});
      *s = {x[0], x[3], x[1] * x[2]};
    }
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<TurnState>();
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const int64_t pieces = CeilDiv(s.pixels, kPixels);
    context.ParallelFor(s.images * pieces, CeilDiv(kGrain, s.channels * kPixels),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i)
                            Piece(context, s, i / pieces, i % pieces * kPixels);
                        });
    return absl::OkStatus();
  }

 private:
  void Piece(const RunContext& context, const TurnState& s, int64_t image, int64_t pixel) const {
    const int64_t count = std::min(kPixels, s.pixels - pixel), c = s.channels;
    const int64_t first = image * c * s.pixels + pixel, last = (image * s.pixels + pixel) * c;
    if constexpr (kToLast) {
      loops_.to_last(context.in<float>(0) + first, s.pixels, c, count,
                     context.out<uint16_t>(0) + last, c);
    } else {
      loops_.to_first(context.in<uint16_t>(0) + last, c, c, count, context.out<float>(0) + first,
                      s.pixels);
    }
  }

  const ChannelsLastLoops& loops_;
};

class LastScale : public Kernel {
 public:
  explicit LastScale(const ChannelsLastLoops& loops) : loops_(loops) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0);
    if (x.size() != 4) return absl::InvalidArgumentError("x has not two spatial axes");
    ONWARD_RETURN_IF_ERROR(CheckNumbers(context, 1, "factor", x));
    if (context.has_input(2)) ONWARD_RETURN_IF_ERROR(CheckNumbers(context, 2, "term", x));
    context.SetOutput(0, x);
    context.AllowInPlace(0, 0);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const DimsView x = context.input(0).dims;
    const int64_t channels = x[3], pixels = x[1] * x[2];
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const auto numbers = [&](int input, int64_t image) {
      return context.in<float>(input) + (context.input(input).dim(0) == 1 ? 0 : image * channels);
    };
    const bool has_terms = context.has_input(2);
    context.ParallelFor(x[0] * pixels, CeilDiv(kGrain, channels), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        loops_.scale(context.in<uint16_t>(0) + p * channels, numbers(1, p / pixels),
                     has_terms ? numbers(2, p / pixels) : nullptr, channels,
                     context.out<uint16_t>(0) + p * channels);
      }
    });
    return absl::OkStatus();
  }

 private:
  // A number for each channel, of each image or of all.
  static absl::Status CheckNumbers(const BindContext& context, int input, const char* what,
                                   DimsView x) {
    const DimsView dims = context.input_dims(input);
    if (dims == DimsView(Dims{x[0], x[3], 1, 1}) || dims == DimsView(Dims{1, x[3], 1, 1}))
      return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("input ", input, " ", DimsString(dims),
                                                   " has not a ", what, " for each channel of x ",
                                                   DimsString(x)));
  }

  const ChannelsLastLoops& loops_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeScale(const NodeSpec& spec) {
  return std::make_unique<LastScale>(kLastLoopsPerTarget.For(TargetOf(spec))());
}

template <bool kToLast>
absl::StatusOr<std::unique_ptr<Kernel>> MakeTurn(const NodeSpec& spec) {
  return std::make_unique<Turn<kToLast>>(kLastLoopsPerTarget.For(TargetOf(spec))());
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ChannelsLastScale", "channels_last_scale_bf16", MakeScale, kBf16Targets},
    {"onward", "ToChannelsFirst", "to_channels_first_bf16", MakeTurn<false>, kBf16Targets},
    {"onward", "ToChannelsLast", "to_channels_last_bf16", MakeTurn<true>, kBf16Targets},
};

}  // namespace

KernelList ChannelsLastLayoutKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
