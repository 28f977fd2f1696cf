#include "files/image/read_image.h"

#include <cstdio>
// jpeglib.h needs stdio's types.
#include <jpeglib.h>
#include <png.h>

#include <csetjmp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"

namespace onward {
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 28;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

absl::StatusOr<Tensor> ReadPng(const std::string& path, bool gray) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0)
    return absl::InvalidArgumentError(image.message);
  image.format = gray ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  if (static_cast<int64_t>(image.width) * image.height > kMaxPixels) {
    png_image_free(&image);
    return absl::InvalidArgumentError("the image has more than 2^28 pixels");
  }
  Tensor pixels(DType::kUint8, Dims{image.height, image.width, gray ? 1 : 3});
  if (png_image_finish_read(&image, nullptr, pixels.raw_mutable_data(), 0, nullptr) == 0) {
    return absl::InvalidArgumentError(image.message);
  }
  return pixels;
}

struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void OnJpegError(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);
}

// Whatever longjmp may cross, and whatever changes after setjmp, belongs to the caller: no
// destructor is skipped and no local variable is left undefined. A failure is in `pixels` or, where
// the function returns false, in errors.message.
bool DecodeJpeg(std::FILE* file, bool gray, jpeg_decompress_struct& decoder, JpegErrors& errors,
                absl::StatusOr<Tensor>& pixels) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_decompress(&decoder);
  jpeg_stdio_src(&decoder, file);
  jpeg_read_header(&decoder, TRUE);
  if (static_cast<int64_t>(decoder.image_width) * decoder.image_height > kMaxPixels) {
    pixels = absl::InvalidArgumentError("the image has more than 2^28 pixels");
    return true;
  }
  decoder.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&decoder);
  pixels = Tensor::Create(DType::kUint8,
                          Dims{decoder.output_height, decoder.output_width, gray ? 1 : 3});
  if (!pixels.ok()) return true;
  const size_t row_bytes = static_cast<size_t>(decoder.output_width) * (gray ? 1 : 3);
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW row = pixels->mutable_data<uint8_t>() + row_bytes * decoder.output_scanline;
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  jpeg_finish_decompress(&decoder);
  return true;
}

absl::StatusOr<Tensor> ReadJpeg(std::FILE* file, bool gray) {
  jpeg_decompress_struct decoder{};  // destroyed below even where it could not be created
  JpegErrors errors;
  decoder.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = OnJpegError;
  errors.base.output_message = [](j_common_ptr) {};
  absl::StatusOr<Tensor> pixels = Tensor();
  const bool whole = DecodeJpeg(file, gray, decoder, errors, pixels);
  jpeg_destroy_decompress(&decoder);
  if (!whole) return absl::InvalidArgumentError(errors.message);
  return pixels;
}

}  // namespace

absl::StatusOr<Tensor> ReadImage(const std::string& path, bool gray) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return absl::NotFoundError(absl::StrCat("cannot open '", path, "'"));
  const int first = std::fgetc(file.get());
  std::rewind(file.get());
  absl::StatusOr<Tensor> pixels = first == 0xff ? ReadJpeg(file.get(), gray) : ReadPng(path, gray);
  if (!pixels.ok()) return Annotate(pixels.status(), absl::StrCat("'", path, "':"));
  return pixels;
}

}  // namespace onward
