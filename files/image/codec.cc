#include "files/image/codec.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onward::image {
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 28;

struct Format {
  std::string_view name;
  bool (*matches)(std::string_view bytes);
  Decode decode;  // null: not in this build
};

bool StartsWith(std::string_view bytes, std::string_view magic) {
  return bytes.substr(0, magic.size()) == magic;
}

bool IsPnm(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6';
}

bool IsWebp(std::string_view bytes) {
  return StartsWith(bytes, "RIFF") && bytes.size() > 12 && bytes.substr(8, 4) == "WEBP";
}

bool IsTiff(std::string_view bytes) {
  using std::string_view_literals::operator""sv;
  return StartsWith(bytes, "II*\0"sv) || StartsWith(bytes, "MM\0*"sv) ||
         StartsWith(bytes, "II+\0"sv) || StartsWith(bytes, "MM\0+"sv);
}

bool IsJpeg2000(std::string_view bytes) {
  using std::string_view_literals::operator""sv;
  return StartsWith(bytes, "\0\0\0\x0cjP  \r\n\x87\n"sv) || StartsWith(bytes, "\xff\x4f\xff\x51"sv);
}

constexpr Format kFormats[] = {
    {"BMP", [](std::string_view b) { return StartsWith(b, "BM"); }, DecodeBmp},
    {"PNM", IsPnm, DecodePnm},
    {"JPEG", [](std::string_view b) { return StartsWith(b, "\xff\xd8\xff"); }, DecodeJpeg},
    {"PNG", [](std::string_view b) { return StartsWith(b, "\x89PNG\r\n\x1a\n"); }, DecodePng},
#ifdef ONWARD_WEBP
    {"WebP", IsWebp, DecodeWebp},
#else
    {"WebP", IsWebp, nullptr},
#endif
#ifdef ONWARD_TIFF
    {"TIFF", IsTiff, DecodeTiff},
#else
    {"TIFF", IsTiff, nullptr},
#endif
#ifdef ONWARD_JPEG2000
    {"JPEG 2000", IsJpeg2000, DecodeJpeg2000},
#else
    {"JPEG 2000", IsJpeg2000, nullptr},
#endif
};

}  // namespace

absl::StatusOr<Pixels> MakePixels(int64_t height, int64_t width) {
  if (height <= 0 || width <= 0)
    return absl::InvalidArgumentError(
        absl::StrCat("the image has ", height, " x ", width, " pixels"));
  if (height > kMaxPixels / width)
    return absl::InvalidArgumentError("the image has more than 2^28 pixels");
  return Pixels{height, width, std::vector<uint8_t>(static_cast<size_t>(3 * height * width))};
}

absl::StatusOr<Pixels> DecodeImage(std::string_view bytes) {
  for (const Format& format : kFormats) {
    if (!format.matches(bytes)) continue;
    if (format.decode != nullptr) return format.decode(bytes);
    return absl::UnimplementedError(
        absl::StrCat("this build has no decoder for ", std::string(format.name),
                     ": its library was not found when it was configured"));
  }
  return absl::InvalidArgumentError(
      "the file is not an image of a known format: JPEG, PNG, BMP, PNM, WebP, TIFF or JPEG 2000");
}

}  // namespace onward::image
