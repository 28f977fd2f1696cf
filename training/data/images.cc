// Image files with classes as examples.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/image/codec.h"
#include "onward/status.h"
#include "training/data/image_files.h"
#include "training/data/image_steps.h"
#include "training/data/pixels.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

class Images : public Dataset {
 public:
  Images(ImageFiles files, ImageData config)
      : files_(std::move(files)),
        config_(std::move(config)),
        table_(NormalizedChannels(
            {config_.mean().data(), static_cast<size_t>(config_.mean_size())},
            {config_.deviation().data(), static_cast<size_t>(config_.deviation_size())})) {
    for (ImageStep& step : *config_.mutable_step()) {
      if (step.has_random_erasing() && step.random_erasing().value().empty())
        *step.mutable_random_erasing()->mutable_value() = config_.mean();
    }
    SymbolicDims dims = {config_.gray() ? 1 : 3, Dim::Symbol("height"), Dim::Symbol("width")};
    if (const auto size = SizeAfter(config_.step())) {
      dims[1] = size->first;
      dims[2] = size->second;
    }
    fields_ = {{"image", Type::Tensor(DType::kFloat32, std::move(dims))},
               {"label", Type::Tensor(DType::kInt64, Dims{}), files_.classes()}};
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  const std::vector<Field>& fields() const override { return fields_; }

  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t random) const override {
    const auto file = static_cast<size_t>(index);
    ONWARD_ASSIGN_OR_RETURN(Tensor image, ReadImage(file, random));
    return std::vector<Tensor>{std::move(image), Tensor::Scalar<int64_t>(files_.label(file))};
  }
  absl::StatusOr<Tensor> ReadField(int64_t index, size_t field) const override {
    if (field == 1) return Tensor::Scalar<int64_t>(files_.label(static_cast<size_t>(index)));
    return Dataset::ReadField(index, field);
  }
  std::string Place(int64_t index, uint64_t) const override {
    return absl::StrCat("'", files_.path(static_cast<size_t>(index)), "'");
  }

 private:
  absl::StatusOr<Tensor> ReadImage(size_t index, uint64_t random) const {
    ONWARD_ASSIGN_OR_RETURN(const ImageFiles::Bytes file, files_.Read(index));
    absl::StatusOr<Pixels> pixels = image::DecodeImage(file.bytes);
    if (pixels.ok()) pixels = Apply(config_.step(), *std::move(pixels), random);
    if (!pixels.ok()) {
      return absl::DataLossError(
          absl::StrCat("'", files_.path(index), "': ", pixels.status().message()));
    }
    return ToTensor(*pixels, config_.gray(), table_);
  }

  ImageFiles files_;
  ImageData config_;
  ChannelTable table_;
  std::vector<Field> fields_;
};

}  // namespace

absl::Status CheckImages(const ImageData& config) {
  for (const int count : {config.mean_size(), config.deviation_size()}) {
    if (count > 1 && count != (config.gray() ? 1 : 3))
      return absl::InvalidArgumentError("data.images: mean and deviation: one, or one per channel");
  }
  for (const float mean : config.mean())
    if (!std::isfinite(mean)) return absl::InvalidArgumentError("data.images: mean is not finite");
  for (const float deviation : config.deviation())
    if (!(deviation > 0))
      return absl::InvalidArgumentError("data.images: deviation must be positive");
  return Annotate(CheckSteps(config.step()), "data.images:");
}

OpenedDataset OpenImages(const ImageData& config, const std::string& directory) {
  ONWARD_RETURN_IF_ERROR(CheckImages(config));
  if (!config.has_directory() && !config.has_list() && !config.has_archive())
    return absl::InvalidArgumentError("data.images: needs a directory, a list or an archive");
  ONWARD_ASSIGN_OR_RETURN(ImageFiles files, ImageFiles::Find(config, directory));
  return std::make_shared<Images>(std::move(files), config);
}

}  // namespace onward::training
