// PNG through libpng.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "files/image/codec.h"

namespace onward::image {
namespace {

struct Source {
  std::string_view bytes;
  std::jmp_buf jump;
  char message[128];
};

[[noreturn]] void Fail(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::strncpy(source->message, message, sizeof(source->message) - 1);
  std::longjmp(source->jump, 1);
}

void Read(png_structp png, png_bytep to, size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->bytes.size()) png_error(png, "the PNG file ends early");
  std::memcpy(to, source->bytes.data(), count);
  source->bytes.remove_prefix(count);
}

// Everything that longjmp may cross is in the arguments: no destructor is skipped.
bool ReadAll(png_structp png, png_infop info, Source& source, absl::StatusOr<Pixels>& pixels,
             std::vector<png_bytep>& rows) {
  if (setjmp(source.jump) != 0) return false;
  png_set_read_fn(png, &source, Read);
  png_read_info(png, info);
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  pixels = MakePixels(png_get_image_height(png, info), png_get_image_width(png, info));
  if (!pixels.ok()) return true;
  const size_t stride = size_t{3} * png_get_image_width(png, info);
  if (png_get_rowbytes(png, info) != stride) png_error(png, "unexpected row size");
  rows.resize(png_get_image_height(png, info));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = pixels->rgb.data() + i * stride;
  png_read_image(png, rows.data());
  png_read_end(png, nullptr);
  return true;
}

}  // namespace

absl::StatusOr<Pixels> DecodePng(std::string_view bytes) {
  Source source{bytes, {}, {}};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, Fail,
                                           [](png_structp, png_const_charp) {});
  if (png == nullptr) return absl::ResourceExhaustedError("libpng cannot start");
  png_infop info = png_create_info_struct(png);
  absl::StatusOr<Pixels> pixels = Pixels();
  std::vector<png_bytep> rows;
  const bool whole = ReadAll(png, info, source, pixels, rows);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!whole) return absl::InvalidArgumentError(source.message);
  return pixels;
}

}  // namespace onward::image
