// Files of named arrays: .npz and safetensors.
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/file_kind.h"
#include "files/mapped_file.h"
#include "files/npy.h"
#include "files/safetensors.h"
#include "onward/dataset.h"
#include "onward/status.h"
#include "training/data/sources.h"

namespace onward::training {
namespace {

using Arrays = std::map<std::string, Tensor>;

absl::StatusOr<Arrays> ReadTensors(const std::string& path) {
  ONWARD_ASSIGN_OR_RETURN(files::Safetensors file, files::ReadSafetensors(path));
  return std::move(file.tensors);
}

OpenedDataset FromArrays(Arrays arrays, const ArrayData& config, const std::string& path) {
  std::vector<std::pair<std::string, Tensor>> fields;
  if (config.field().empty()) fields.assign(arrays.begin(), arrays.end());
  for (const std::string& name : config.field()) {
    const auto array = arrays.find(name);
    if (array == arrays.end())
      return absl::InvalidArgumentError(absl::StrCat("has no array '", name, "'"));
    fields.push_back(*array);
  }
  if (fields.empty()) return absl::InvalidArgumentError("has no arrays");
  return TensorDataset(std::move(fields), path);
}

// A file of another format is named.
absl::Status NameFormat(const absl::Status& status, const std::string& path) {
  const auto file = files::MappedFile::Open(path);
  if (!file.ok() || absl::StrContains(status.message(), " but ")) return status;
  const absl::Status named =
      files::NameForeignFile(status, (*file)->bytes(), files::WantedFile::kArrays);
  return named == status ? status : Annotate(named, absl::StrCat("'", path, "':"));
}

OpenedDataset OpenArrays(const ArrayData& config, const std::string& directory,
                         absl::StatusOr<Arrays> (*read)(const std::string& path)) {
  if (config.path().empty()) return absl::InvalidArgumentError("data: needs the path of a file");
  std::vector<std::shared_ptr<const Dataset>> parts;
  for (const std::string& name : config.path()) {
    const std::string path = PathBelow(directory, name);
    absl::StatusOr<Arrays> arrays = read(path);
    if (!arrays.ok()) return NameFormat(arrays.status(), path);
    OpenedDataset part = FromArrays(*std::move(arrays), config, path);
    if (!part.ok()) return Annotate(part.status(), absl::StrCat("'", path, "':"));
    parts.push_back(*std::move(part));
  }
  if (parts.size() == 1) return parts[0];
  return Concatenate(std::move(parts));
}

}  // namespace

OpenedDataset OpenNpz(const ArrayData& config, const std::string& directory) {
  return OpenArrays(config, directory, files::ReadNpz);
}

OpenedDataset OpenSafetensors(const ArrayData& config, const std::string& directory) {
  return OpenArrays(config, directory, ReadTensors);
}

}  // namespace onward::training
