#include "onward/dataset.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/status.h"
#include "training/data/order.h"
#include "training/data/sources.h"

namespace onward {
namespace {

training::OpenedDataset OpenSource(const DataConfig& config, const std::string& directory) {
  switch (config.source_case()) {
    case DataConfig::kMnist:
      return training::OpenMnist(config.mnist(), directory);
    case DataConfig::kText:
      return training::OpenText(config.text(), directory);
    case DataConfig::kImages:
      return training::OpenImages(config.images(), directory);
    case DataConfig::kCsv:
      return training::OpenCsv(config.csv(), directory);
    case DataConfig::kJsonl:
      return training::OpenJsonl(config.jsonl(), directory);
    case DataConfig::kNpz:
      return training::OpenNpz(config.npz(), directory);
    case DataConfig::kSafetensors:
      return training::OpenSafetensors(config.safetensors(), directory);
    case DataConfig::SOURCE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("data: no source is given, such as mnist { ... }");
}

training::OpenedDataset TakePart(std::shared_ptr<const Dataset> data, const Part& part) {
  const int64_t size = data->size();
  if (!(part.from() >= 0 && part.from() < part.to() && part.to() <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.part: needs 0 <= from < to <= 1, got ", part.from(), " to ", part.to()));
  }
  const auto bound = [&](double share) {
    return static_cast<size_t>(std::llround(share * static_cast<double>(size)));
  };
  std::vector<int64_t> order =
      part.has_seed() ? training::ShuffledOrder(size, part.seed(), training::kSplitEpoch)
                      : training::InOrder(size);
  std::vector<int64_t> taken(order.begin() + bound(part.from()), order.begin() + bound(part.to()));
  if (part.has_limit() && part.limit() < static_cast<int64_t>(taken.size()))
    taken.resize(static_cast<size_t>(std::max<int64_t>(0, part.limit())));
  if (taken.empty())
    return absl::InvalidArgumentError(absl::StrCat("data.part: no example of ", size, " is left"));
  return Subset(std::move(data), std::move(taken));
}

}  // namespace

absl::StatusOr<Tensor> Dataset::ReadField(int64_t index, size_t field) const {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<Tensor> example, Read(index, 0));
  return example[field];
}

std::string Dataset::Place(int64_t index, uint64_t) const {
  return absl::StrCat("example ", index);
}

absl::StatusOr<size_t> FindField(const Dataset& data, std::string_view name) {
  std::vector<std::string> names;
  for (const Field& field : data.fields()) {
    if (field.name == name) return names.size();
    names.push_back(field.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("the data has no field '", std::string(name),
                                                 "'; it has ", absl::StrJoin(names, ", ")));
}

}  // namespace onward

namespace onward::training {

std::string PathBelow(const std::string& directory, const std::string& path) {
  if (directory.empty() || (!path.empty() && path[0] == '/')) return path;
  return absl::StrCat(directory, "/", path);
}

}  // namespace onward::training

namespace onward {

absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(const DataConfig& config,
                                                           const std::string& directory) {
  ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> data, OpenSource(config, directory));
  if (!config.has_part()) return data;
  return TakePart(std::move(data), config.part());
}

}  // namespace onward
