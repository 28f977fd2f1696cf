// The IDX format: two zero bytes, the element type (8: unsigned byte), the rank, the dims as
// big-endian 32-bit numbers, the elements.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/gzip.h"
#include "graph/base/checked.h"
#include "onward/memory_limit.h"
#include "onward/status.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 36;

struct Idx {
  std::string bytes;
  Dims dims;
  size_t data_offset = 0;
  std::shared_ptr<void> counted;  // see CountMemory

  const uint8_t* data() const {
    return reinterpret_cast<const uint8_t*>(bytes.data()) + data_offset;
  }
};

absl::StatusOr<Idx> ParseIdx(std::string bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (bytes.size() < 4 || byte(0) != 0 || byte(1) != 0)
    return absl::InvalidArgumentError("not an IDX file (no magic number)");
  if (byte(2) != 8) {
    return absl::InvalidArgumentError(
        absl::StrCat("IDX elements of type ", byte(2), ", unsigned bytes (8) are needed"));
  }
  Idx idx;
  const size_t rank = byte(3);
  idx.data_offset = 4 + 4 * rank;
  if (bytes.size() < idx.data_offset) return absl::InvalidArgumentError("truncated IDX header");
  for (size_t i = 0; i < rank; ++i) {
    const size_t at = 4 + 4 * i;
    idx.dims.push_back(int64_t{byte(at)} << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 |
                       byte(at + 3));
  }
  ONWARD_ASSIGN_OR_RETURN(const int64_t needed, CheckedNumElements(idx.dims));
  const auto present = static_cast<int64_t>(bytes.size() - idx.data_offset);
  if (present != needed) {
    return absl::InvalidArgumentError(absl::StrCat(present < needed ? "truncated: " : "", "shape ",
                                                   DimsString(idx.dims), " needs ", needed,
                                                   " bytes, ", present, " are there"));
  }
  ONWARD_ASSIGN_OR_RETURN(idx.counted, CountMemory(static_cast<int64_t>(bytes.size()), nullptr));
  idx.bytes = std::move(bytes);
  return idx;
}

absl::StatusOr<Idx> ReadIdx(const std::string& path, size_t rank) {
  ONWARD_ASSIGN_OR_RETURN(std::string bytes, files::ReadMaybeGzip(path, kMaxBytes));
  absl::StatusOr<Idx> idx = ParseIdx(std::move(bytes));
  if (idx.ok() && idx->dims.size() != rank) {
    idx = absl::InvalidArgumentError(
        absl::StrCat("rank ", rank, " is needed, the shape is ", DimsString(idx->dims)));
  }
  if (!idx.ok()) return Annotate(idx.status(), absl::StrCat("'", path, "':"));
  return idx;
}

class Mnist : public Dataset {
 public:
  Mnist(Idx images, Idx labels, std::string labels_path, float mean, float deviation)
      : images_(std::move(images)),
        labels_(std::move(labels)),
        labels_path_(std::move(labels_path)),
        dims_{1, images_.dims[1], images_.dims[2]},
        fields_{{"image", Type::Tensor(DType::kFloat32, dims_)},
                {"label", Type::Tensor(DType::kInt64, Dims{})}} {
    for (int i = 0; i < 256; ++i) pixel_[i] = (static_cast<float>(i) / 255.0f - mean) / deviation;
  }

  int64_t size() const override { return images_.dims[0]; }
  const std::vector<Field>& fields() const override { return fields_; }

  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t) const override {
    ONWARD_ASSIGN_OR_RETURN(Tensor image, Tensor::Create(DType::kFloat32, dims_));
    const int64_t pixels = image.num_elements();
    const uint8_t* from = images_.data() + index * pixels;
    auto* to = image.mutable_data<float>();
    for (int64_t i = 0; i < pixels; ++i) to[i] = pixel_[from[i]];
    return std::vector<Tensor>{std::move(image), Label(index)};
  }

  absl::StatusOr<Tensor> ReadField(int64_t index, size_t field) const override {
    return field == 1 ? Label(index) : Dataset::ReadField(index, field);
  }
  std::string Place(int64_t index, uint64_t) const override {
    return absl::StrCat("example ", index, " of '", labels_path_, "'");
  }

 private:
  Tensor Label(int64_t index) const { return Tensor::Scalar<int64_t>(labels_.data()[index]); }

  Idx images_, labels_;
  std::string labels_path_;
  Dims dims_;
  std::vector<Field> fields_;
  float pixel_[256];
};

}  // namespace

OpenedDataset OpenMnist(const MnistData& config, const std::string& directory) {
  if (!std::isfinite(config.mean()) || !(config.deviation() > 0))
    return absl::InvalidArgumentError("data.mnist: mean must be finite, deviation positive");
  const std::string images_path = PathBelow(directory, config.images());
  const std::string labels_path = PathBelow(directory, config.labels());
  ONWARD_ASSIGN_OR_RETURN(Idx images, ReadIdx(images_path, 3));
  ONWARD_ASSIGN_OR_RETURN(Idx labels, ReadIdx(labels_path, 1));
  if (images.dims[0] != labels.dims[0]) {
    return absl::InvalidArgumentError(absl::StrCat("'", images_path, "' has ", images.dims[0],
                                                   " images, '", labels_path, "' has ",
                                                   labels.dims[0], " labels"));
  }
  return std::make_shared<Mnist>(std::move(images), std::move(labels), labels_path, config.mean(),
                                 config.deviation());
}

}  // namespace onward::training
