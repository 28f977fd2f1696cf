// JPEG 2000 files and codestreams through OpenJPEG.
#include <openjpeg.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "files/image/codec.h"

namespace onward::image {
namespace {

absl::Status Damaged() { return absl::InvalidArgumentError("the JPEG 2000 file is damaged"); }

struct Source {
  std::string_view bytes;
  size_t at = 0;
};

OPJ_SIZE_T Read(void* to, OPJ_SIZE_T count, void* user) {
  auto* source = static_cast<Source*>(user);
  const size_t size = std::min<size_t>(count, source->bytes.size() - source->at);
  if (size == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, source->bytes.data() + source->at, size);
  source->at += size;
  return size;
}

OPJ_BOOL Seek(OPJ_OFF_T to, void* user) {
  auto* source = static_cast<Source*>(user);
  if (to < 0 || static_cast<uint64_t>(to) > source->bytes.size()) return OPJ_FALSE;
  source->at = static_cast<size_t>(to);
  return OPJ_TRUE;
}

OPJ_OFF_T Skip(OPJ_OFF_T count, void* user) {
  auto* source = static_cast<Source*>(user);
  return Seek(static_cast<OPJ_OFF_T>(source->at) + count, user) ? count : -1;
}

// OpenJPEG's streams and codecs are both void.
struct StreamCloser {
  void operator()(opj_stream_t* stream) const { opj_stream_destroy(stream); }
};
struct CodecCloser {
  void operator()(opj_codec_t* codec) const { opj_destroy_codec(codec); }
};
struct ImageCloser {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};
using Stream = std::unique_ptr<opj_stream_t, StreamCloser>;
using Codec = std::unique_ptr<opj_codec_t, CodecCloser>;
using Image = std::unique_ptr<opj_image_t, ImageCloser>;

Stream OpenStream(Source& source) {
  Stream stream(opj_stream_default_create(OPJ_TRUE));
  if (stream == nullptr) return stream;
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), source.bytes.size());
  opj_stream_set_read_function(stream.get(), Read);
  opj_stream_set_seek_function(stream.get(), Seek);
  opj_stream_set_skip_function(stream.get(), Skip);
  return stream;
}

// Sample of a component at a pixel of the image, as 8 bits; coarser components are repeated.
int Sample(const opj_image_comp_t& component, int64_t row, int64_t column) {
  const int64_t y = std::min<int64_t>(row / component.dy, int64_t{component.h} - 1);
  const int64_t x = std::min<int64_t>(column / component.dx, int64_t{component.w} - 1);
  int64_t value = component.data[y * component.w + x];
  if (component.sgnd != 0) value += int64_t{1} << (component.prec - 1);
  const int shift = static_cast<int>(component.prec) - 8;
  value = shift >= 0 ? value >> shift : value << -shift;
  return static_cast<int>(std::clamp<int64_t>(value, 0, 255));
}

uint8_t Round(double value) {
  return static_cast<uint8_t>(std::clamp(std::nearbyint(value), 0.0, 255.0));
}

// The inverse of ITU-R BT.601's full-range luma and chroma.
void FromYcc(uint8_t* rgb) {
  const double y = rgb[0], cb = rgb[1] - 128.0, cr = rgb[2] - 128.0;
  rgb[0] = Round(y + 1.402 * cr);
  rgb[1] = Round(y - 0.344136 * cb - 0.714136 * cr);
  rgb[2] = Round(y + 1.772 * cb);
}

bool IsReadable(const opj_image_t& image) {
  if (image.numcomps == 0 || image.x1 <= image.x0 || image.y1 <= image.y0) return false;
  for (uint32_t i = 0; i < std::min(image.numcomps, 3u); ++i) {
    const opj_image_comp_t& c = image.comps[i];
    if (c.data == nullptr || c.w == 0 || c.h == 0 || c.dx == 0 || c.dy == 0 || c.prec == 0 ||
        c.prec > 31)
      return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Pixels> DecodeJpeg2000(std::string_view bytes) {
  Source source{bytes};
  const Stream stream = OpenStream(source);
  const bool raw = !bytes.empty() && bytes[0] != 0;
  const Codec codec(opj_create_decompress(raw ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (stream == nullptr || codec == nullptr)
    return absl::ResourceExhaustedError("OpenJPEG cannot start");
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* header = nullptr;
  const bool opened = opj_setup_decoder(codec.get(), &parameters) &&
                      opj_read_header(stream.get(), codec.get(), &header);
  const Image image(header);
  if (!opened || image == nullptr) return Damaged();
  auto pixels = MakePixels(int64_t{image->y1} - image->y0, int64_t{image->x1} - image->x0);
  if (!pixels.ok()) return pixels;
  if (!opj_decode(codec.get(), stream.get(), image.get()) || !IsReadable(*image)) return Damaged();
  const bool gray = image->numcomps < 3;
  uint8_t* rgb = pixels->rgb.data();
  for (int64_t row = 0; row < pixels->height; ++row) {
    for (int64_t column = 0; column < pixels->width; ++column, rgb += 3) {
      for (int c = 0; c < 3; ++c)
        rgb[c] = static_cast<uint8_t>(Sample(image->comps[gray ? 0 : c], row, column));
      if (!gray && image->color_space == OPJ_CLRSPC_SYCC) FromYcc(rgb);
    }
  }
  return pixels;
}

}  // namespace onward::image
