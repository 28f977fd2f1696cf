// Decoders of the image formats that ImageDecoder reads, one per format. Which of them a build has
// depends on the libraries that were found (cmake/image_codecs.cmake).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onward::image {

// 8-bit pixels, red, green and blue by turns, rows from the top.
struct Pixels {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> rgb;
};

// Luma of ITU-R BT.601 in 16 binary places, rounded; three equal samples keep their value.
inline uint8_t Luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

// Allocates an image. InvalidArgument where a side is not positive or the image has more than 2^28
// pixels.
absl::StatusOr<Pixels> MakePixels(int64_t height, int64_t width);

// Each decodes one whole file in memory. Samples of more than 8 bits keep the high 8; alpha is
// dropped; gray is repeated in the three channels. InvalidArgument: the file is damaged or uses a
// variant that the decoder does not know.
using Decode = absl::StatusOr<Pixels> (*)(std::string_view bytes);
absl::StatusOr<Pixels> DecodeBmp(std::string_view bytes);
absl::StatusOr<Pixels> DecodePnm(std::string_view bytes);
absl::StatusOr<Pixels> DecodeJpeg(std::string_view bytes);
absl::StatusOr<Pixels> DecodePng(std::string_view bytes);
absl::StatusOr<Pixels> DecodeWebp(std::string_view bytes);
absl::StatusOr<Pixels> DecodeTiff(std::string_view bytes);
absl::StatusOr<Pixels> DecodeJpeg2000(std::string_view bytes);

// Decodes by what the first bytes say. Unimplemented: the build lacks the format's library.
absl::StatusOr<Pixels> DecodeImage(std::string_view bytes);

}  // namespace onward::image
