#include "cli/image_inputs.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "onward/read_image.h"
#include "onward/status.h"
#include "training/data/image_steps.h"

namespace onward::cli {
namespace {

// An image as the input's dtype and layout: channels first unless only the last dim is 1 or 3.
// Values stay in 0..255.
absl::StatusOr<Tensor> ImageInput(const ValueInfo& info, const std::string& path) {
  if (!info.type.shape || (info.type.shape->size() != 3 && info.type.shape->size() != 4)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", info.name, "' is ", info.type.ToString(), ": an image needs 3 or 4 dimensions"));
  }
  const SymbolicDims& shape = *info.type.shape;
  const size_t first = shape.size() - 3;
  const auto is_channels = [](const Dim& dim) {
    return dim.known() && (dim.value() == 1 || dim.value() == 3);
  };
  const bool channels_last = is_channels(shape.back()) && !is_channels(shape[first]);
  const Dim& channels = channels_last ? shape.back() : shape[first];
  const bool gray = channels.known() && channels.value() == 1;
  ONWARD_ASSIGN_OR_RETURN(const Tensor pixels, ReadImage(path, gray));
  const int64_t height = pixels.dims()[0], width = pixels.dims()[1], depth = pixels.dims()[2];
  Dims dims = channels_last ? Dims{height, width, depth} : Dims{depth, height, width};
  if (shape.size() == 4) dims.insert(dims.begin(), 1);
  Tensor tensor(info.type.dtype, dims);
  const bool found = DispatchDType(NumericTypes(), info.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < height * width; ++i) {
      for (int64_t c = 0; c < depth; ++c) {
        const int64_t to = channels_last ? i * depth + c : c * height * width + i;
        tensor.mutable_data<T>()[to] =
            static_cast<T>(static_cast<float>(pixels.data<uint8_t>()[i * depth + c]));
      }
    }
  });
  if (found) return tensor;
  return absl::InvalidArgumentError(
      absl::StrCat("input '", info.name, "' is ", info.type.ToString(), ", not an image"));
}

// float32 [channels, height, width] as the input's dtype and layout.
absl::StatusOr<Tensor> AsInput(const ValueInfo& info, const Tensor& image) {
  const SymbolicDims& shape = *info.type.shape;
  const size_t first = shape.size() - 3;
  const int64_t channels = image.dims()[0], pixels = image.dims()[1] * image.dims()[2];
  const auto is_channels = [&](const Dim& dim) { return dim.known() && dim.value() == channels; };
  const bool channels_last = is_channels(shape.back()) && !is_channels(shape[first]);
  Dims dims(image.dims().begin(), image.dims().end());
  if (channels_last) std::rotate(dims.begin(), dims.begin() + 1, dims.end());
  if (shape.size() == 4) dims.insert(dims.begin(), 1);
  Tensor tensor(info.type.dtype, dims);
  const bool found = DispatchDType(FloatTypes(), info.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < channels * pixels; ++i) {
      const int64_t to = channels_last ? i % pixels * channels + i / pixels : i;
      tensor.mutable_data<T>()[to] = static_cast<T>(image.data<float>()[i]);
    }
  });
  if (found) return tensor;
  return absl::InvalidArgumentError(absl::StrCat(
      "input '", info.name, "' is ", info.type.ToString(), ", prepared images are floats"));
}

bool TakesImages(const ValueInfo& info) {
  return info.type.shape && (info.type.shape->size() == 3 || info.type.shape->size() == 4);
}

}  // namespace

// As the note says, or as pixels of 0 to 255 with a word about them.
absl::StatusOr<Tensor> ReadImageInput(const ValueInfo& info, const std::string& path,
                                      const std::optional<training::ImageNote>& note) {
  const bool noted =
      note && (note->inputs.empty() || std::find(note->inputs.begin(), note->inputs.end(),
                                                 info.name) != note->inputs.end());
  if (noted && TakesImages(info)) {
    ONWARD_ASSIGN_OR_RETURN(const auto file, files::MappedFile::Open(path));
    const absl::StatusOr<Tensor> image = training::PrepareImage(file->bytes(), note->image);
    if (!image.ok()) return Annotate(image.status(), absl::StrCat("'", path, "':"));
    std::fprintf(stderr, "note: '%s' is prepared for input '%s': %s\n", path.c_str(),
                 info.name.c_str(), training::DescribeImage(note->image).c_str());
    return AsInput(info, *image);
  }
  ONWARD_ASSIGN_OR_RETURN(Tensor image, ImageInput(info, path));
  if (IsFloating(info.type.dtype)) {
    std::fprintf(
        stderr,
        "note: input '%s' gets the pixels of '%s' as 0 to 255, and the model does not say "
        "what it was trained on; --image 'mean: [0.485, 0.456, 0.406] deviation: [0.229, "
        "0.224, 0.225] step { resize { height: 224 width: 224 } }' gives it (pixel / 255 - "
        "mean) / deviation of the resized image\n",
        info.name.c_str(), path.c_str());
  }
  return image;
}

absl::StatusOr<std::optional<training::ImageNote>> ImageNoteOf(const std::string& option,
                                                               const training::Notes& metadata) {
  if (option.empty()) return training::ReadImageNote(metadata);
  training::ImageNote note;
  if (!google::protobuf::TextFormat::ParseFromString(option, &note.image)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--image '", option, "' is not an onward.ImageData, such as 'mean: 0.5 deviation: 0.5'"));
  }
  ONWARD_RETURN_IF_ERROR(Annotate(training::CheckImages(note.image), "--image:"));
  return std::optional<training::ImageNote>(std::move(note));
}

}  // namespace onward::cli
