// Files of other formats that are given where a model, weights or a configuration is read.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace onward::files {

enum class WantedFile { kModel, kWeights, kConfig, kArrays };

// Describes a file by its first bytes, with advice for whoever wanted to read
// `wanted`: "a PyTorch checkpoint; write its weights with ...". "" where they are unknown or
// those of `wanted`.
std::string ForeignFile(std::string_view bytes, WantedFile wanted);

// `status`, unless the file is known to be of another format: then InvalidArgument that says so.
absl::Status NameForeignFile(const absl::Status& status, std::string_view bytes, WantedFile wanted);

}  // namespace onward::files
