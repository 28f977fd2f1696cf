// onward.ToChannelsLast and onward.ToChannelsFirst: images of float32 with their channels first, to
// and from float32 or bfloat16 with their channels last; onward.ChannelsLastScale.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/channels_last.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // elements that a thread turns
constexpr int64_t kPixels = 64;        // of a piece: its lines of both sides stay in the cache
constexpr int64_t kPieceElements = 4 * 1024;  // of pixels with all channels, of large images

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
                     context.out<char>(0) + last * loops_.element_bytes, c);
    } else {
      loops_.to_first(context.in<char>(0) + last * loops_.element_bytes, c, c, count,
                      context.out<float>(0) + first, s.pixels);
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
    const auto scale = [&](int64_t image, int64_t pixel, int64_t count, int64_t c, int64_t width) {
      const int64_t at = ((image * pixels + pixel) * channels + c) * loops_.element_bytes;
      loops_.scale(context.in<char>(0) + at, channels, count, numbers(1, image) + c,
                   has_terms ? numbers(2, image) + c : nullptr, width, context.out<char>(0) + at);
    };
    const bool by_pixels = pixels >= kManyPixels;
    const int64_t size = by_pixels ? CeilDiv(kPieceElements, channels) : kBlockChannels;
    const int64_t pieces = CeilDiv(by_pixels ? pixels : channels, size);
    const int64_t grain = CeilDiv(kGrain, size * (by_pixels ? channels : pixels));
    context.ParallelFor(x[0] * pieces, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * size;
        if (by_pixels) {
          scale(i / pieces, first, std::min(size, pixels - first), 0, channels);
        } else {
          scale(i / pieces, 0, pixels, first, std::min(size, channels - first));
        }
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
  ONWARD_ASSIGN_OR_RETURN(const ChannelsLastLoops* loops, LastLoopsOf(spec, spec.input_dtype(0)));
  return std::make_unique<LastScale>(*loops);
}

template <bool kToLast>
absl::StatusOr<std::unique_ptr<Kernel>> MakeTurn(const NodeSpec& spec) {
  const DType image = kToLast ? spec.output_type(0).dtype : spec.input_dtype(0);
  ONWARD_ASSIGN_OR_RETURN(const ChannelsLastLoops* loops, LastLoopsOf(spec, image));
  return std::make_unique<Turn<kToLast>>(*loops);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "ChannelsLastScale", "channels_last_scale", MakeScale, kVectorTargets},
    {"onward", "ChannelsLastScale", "channels_last_scale_bf16", MakeScale, kBf16Targets},
    {"onward", "ToChannelsFirst", "to_channels_first", MakeTurn<false>, kVectorTargets},
    {"onward", "ToChannelsFirst", "to_channels_first_bf16", MakeTurn<false>, kBf16Targets},
    {"onward", "ToChannelsLast", "to_channels_last", MakeTurn<true>, kVectorTargets},
    {"onward", "ToChannelsLast", "to_channels_last_bf16", MakeTurn<true>, kBf16Targets},
};

}  // namespace

absl::StatusOr<const ChannelsLastLoops*> LastLoopsOf(const NodeSpec& spec, DType image) {
  const ChannelsLastLoops& loops = kLastLoopsPerTarget.For(TargetOf(spec))();
  if (image != (loops.element_bytes == 4 ? DType::kFloat32 : DType::kBFloat16))
    return absl::UnimplementedError("the target's loops are of another type");
  return &loops;
}

KernelList ChannelsLastLayoutKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
