#include "onward/read_image.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "files/image/codec.h"
#include "files/mapped_file.h"
#include "onward/status.h"

namespace onward {
absl::StatusOr<Tensor> ReadImage(const std::string& path, bool gray) {
  ONWARD_ASSIGN_OR_RETURN(const auto file, files::MappedFile::Open(path));
  const absl::StatusOr<image::Pixels> pixels = image::DecodeImage(file->bytes());
  if (!pixels.ok()) return Annotate(pixels.status(), absl::StrCat("'", path, "':"));
  const int64_t channels = gray ? 1 : 3;
  ONWARD_ASSIGN_OR_RETURN(
      Tensor tensor, Tensor::Create(DType::kUint8, Dims{pixels->height, pixels->width, channels}));
  uint8_t* to = tensor.mutable_data<uint8_t>();
  if (!gray) {
    std::copy(pixels->rgb.begin(), pixels->rgb.end(), to);
    return tensor;
  }
  for (size_t i = 0; i < pixels->rgb.size(); i += 3) *to++ = image::Luma(&pixels->rgb[i]);
  return tensor;
}

}  // namespace onward
