// JPEG through libjpeg-turbo, with its defaults: the accurate integer transform and "fancy"
// upsampling, which the standard asks for.
#include <cstdio>
// jpeglib.h needs stdio's types.
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>

#include "files/image/codec.h"

namespace onward::image {
namespace {

struct Errors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void Fail(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

// A file that ends early is damaged, not gray below.
void OnMessage(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) Fail(info);
}

// Inks as Adobe's programs store them, 255 being none.
void FromInks(const JSAMPLE* row, int64_t count, uint8_t* rgb) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < 3; ++c)
      rgb[3 * i + c] = static_cast<uint8_t>((row[4 * i + c] * row[4 * i + 3] + 127) / 255);
  }
}

// Everything that longjmp may cross is in the arguments: no destructor is skipped.
bool ReadAll(jpeg_decompress_struct& decoder, Errors& errors, std::string_view bytes,
             absl::StatusOr<Pixels>& pixels, std::vector<JSAMPLE>& row) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_decompress(&decoder);
  // Bounds the rounds of a progressive file's decoder.
  decoder.mem->max_memory_to_use = int64_t{1} << 30;
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&decoder, TRUE);
  const bool inks = decoder.jpeg_color_space == JCS_CMYK || decoder.jpeg_color_space == JCS_YCCK;
  decoder.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  pixels = MakePixels(decoder.image_height, decoder.image_width);
  if (!pixels.ok()) return true;
  jpeg_start_decompress(&decoder);
  row.resize(size_t{decoder.output_width} * 4);
  while (decoder.output_scanline < decoder.output_height) {
    uint8_t* to = pixels->rgb.data() + size_t{3} * decoder.output_width * decoder.output_scanline;
    JSAMPROW target = inks ? row.data() : to;
    jpeg_read_scanlines(&decoder, &target, 1);
    if (inks) FromInks(row.data(), pixels->width, to);
  }
  jpeg_finish_decompress(&decoder);
  return true;
}

}  // namespace

absl::StatusOr<Pixels> DecodeJpeg(std::string_view bytes) {
  jpeg_decompress_struct decoder{};  // destroyed below even where it could not be created
  Errors errors;
  decoder.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = Fail;
  errors.base.emit_message = OnMessage;
  absl::StatusOr<Pixels> pixels = Pixels();
  std::vector<JSAMPLE> row;
  const bool whole = ReadAll(decoder, errors, bytes, pixels, row);
  jpeg_destroy_decompress(&decoder);
  if (!whole) return absl::InvalidArgumentError(errors.message);
  return pixels;
}

}  // namespace onward::image
