// TIFF through libtiff: the first image of the file, through its conversion to 8-bit RGBA.
#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "files/image/codec.h"

namespace onward::image {
namespace {

struct Source {
  std::string_view bytes;
  uint64_t at = 0;
};

tmsize_t Read(thandle_t handle, void* to, tmsize_t count) {
  auto* source = static_cast<Source*>(handle);
  // Never a negative count: libtiff would take it for an offset.
  if (count < 0 || source->at > source->bytes.size()) return 0;
  const size_t size =
      std::min<size_t>(static_cast<size_t>(count), source->bytes.size() - source->at);
  std::memcpy(to, source->bytes.data() + source->at, size);
  source->at += size;
  return static_cast<tmsize_t>(size);
}

toff_t Seek(thandle_t handle, toff_t offset, int from) {
  auto* source = static_cast<Source*>(handle);
  if (from == SEEK_CUR) offset += source->at;
  if (from == SEEK_END) offset += source->bytes.size();
  source->at = offset;
  return offset;
}

struct Closer {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};

}  // namespace

absl::StatusOr<Pixels> DecodeTiff(std::string_view bytes) {
  // libtiff has no other way to be silent in this version.
  static const bool silent = [] {
    TIFFSetErrorHandler(nullptr);
    TIFFSetWarningHandler(nullptr);
    return true;
  }();
  (void)silent;
  Source source{bytes};
  const std::unique_ptr<TIFF, Closer> tiff(TIFFClientOpen(
      "stream", "rm", &source, Read, [](thandle_t, void*, tmsize_t) -> tmsize_t { return -1; },
      Seek, [](thandle_t) { return 0; },
      [](thandle_t handle) -> toff_t { return static_cast<Source*>(handle)->bytes.size(); },
      nullptr, nullptr));
  if (tiff == nullptr) return absl::InvalidArgumentError("the TIFF file is damaged");
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  auto pixels = MakePixels(height, width);
  if (!pixels.ok()) return pixels;
  std::vector<uint32_t> rgba(size_t{width} * height);
  if (TIFFReadRGBAImageOriented(tiff.get(), width, height, rgba.data(), ORIENTATION_TOPLEFT, 1) ==
      0)
    return absl::InvalidArgumentError(
        "the TIFF file is damaged or of a kind that libtiff cannot read");
  for (size_t i = 0; i < rgba.size(); ++i) {
    pixels->rgb[3 * i] = static_cast<uint8_t>(TIFFGetR(rgba[i]));
    pixels->rgb[3 * i + 1] = static_cast<uint8_t>(TIFFGetG(rgba[i]));
    pixels->rgb[3 * i + 2] = static_cast<uint8_t>(TIFFGetB(rgba[i]));
  }
  return pixels;
}

}  // namespace onward::image
