// Every source of examples: what OpenDataset chooses from. One file each; data_config.proto says
// which fields they have.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "training/data/dataset.h"

namespace onward {

using OpenedDataset = absl::StatusOr<std::shared_ptr<const Dataset>>;

OpenedDataset OpenMnist(const MnistData& config, const std::string& directory);

// `path` itself when it is absolute, else below `directory`.
std::string PathBelow(const std::string& directory, const std::string& path);

}  // namespace onward
