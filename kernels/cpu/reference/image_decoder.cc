// ImageDecoder: an encoded image to [height, width, channels].
#include "absl/strings/str_cat.h"
#include "files/image/codec.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

enum class PixelFormat : uint8_t { kRgb, kBgr, kGray };

// A stream that cannot be decoded gives an empty image, as the standard says; one that needs a
// library that the build lacks is an error.
class ImageDecoder : public Kernel {
 public:
  explicit ImageDecoder(PixelFormat format) : format_(format) {}

  absl::Status Bind(BindContext& context) const override {
    if (context.input_dims(0).size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "encoded_stream has shape ", DimsString(context.input_dims(0)), ", must have rank 1"));
    }
    context.SetOutputAtRun(0);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& stream = context.input(0);
    const auto pixels =
        image::DecodeImage({stream.as<const char>(), static_cast<size_t>(stream.num_elements())});
    if (absl::IsUnimplemented(pixels.status())) return pixels.status();
    const int64_t channels = format_ == PixelFormat::kGray ? 1 : 3;
    const int64_t height = pixels.ok() ? pixels->height : 0,
                  width = pixels.ok() ? pixels->width : 0;
    ONWARD_ASSIGN_OR_RETURN(
        const TensorView out,
        context.AllocateOutput(0, DType::kUint8, Dims{height, width, channels}));
    if (pixels.ok()) Write(pixels->rgb, out.as<uint8_t>());
    return absl::OkStatus();
  }

 private:
  void Write(const std::vector<uint8_t>& rgb, uint8_t* out) const {
    if (format_ == PixelFormat::kRgb) {
      std::copy(rgb.begin(), rgb.end(), out);
      return;
    }
    for (size_t i = 0; i < rgb.size(); i += 3) {
      if (format_ == PixelFormat::kBgr) {
        for (size_t c = 0; c < 3; ++c) out[i + c] = rgb[i + 2 - c];
      } else {
        out[i / 3] = image::Luma(&rgb[i]);
      }
    }
  }

  PixelFormat format_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeImageDecoder(const NodeSpec& spec) {
  const std::string format = spec.attributes().String("pixel_format", "RGB");
  if (format == "RGB") return std::make_unique<ImageDecoder>(PixelFormat::kRgb);
  if (format == "BGR") return std::make_unique<ImageDecoder>(PixelFormat::kBgr);
  if (format == "Grayscale") return std::make_unique<ImageDecoder>(PixelFormat::kGray);
  return absl::InvalidArgumentError(
      absl::StrCat("pixel_format is '", format, "', not RGB, BGR or Grayscale"));
}

constexpr KernelEntry kKernels[] = {
    {"", "ImageDecoder", "image_decoder_reference", MakeImageDecoder},
};

}  // namespace

KernelList ReferenceImageDecoder() { return kKernels; }

}  // namespace onward::kernels::cpu
