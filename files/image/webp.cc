// WebP through libwebp.
#include <webp/decode.h>

#include "files/image/codec.h"

namespace onward::image {

absl::StatusOr<Pixels> DecodeWebp(std::string_view bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  int width = 0, height = 0;
  if (WebPGetInfo(data, bytes.size(), &width, &height) == 0)
    return absl::InvalidArgumentError("the WebP file is damaged");
  auto pixels = MakePixels(height, width);
  if (!pixels.ok()) return pixels;
  if (WebPDecodeRGBInto(data, bytes.size(), pixels->rgb.data(), pixels->rgb.size(), 3 * width) ==
      nullptr)
    return absl::InvalidArgumentError("the WebP file is damaged");
  return pixels;
}

}  // namespace onward::image
