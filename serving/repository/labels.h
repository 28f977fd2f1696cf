// Names of classes, for outputs that score classes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"
#include "serving/repository/model_config.pb.h"

namespace onward::serving {

// Names by index, by output.
using Labels = std::map<std::string, std::vector<std::string>>;

// The classes of one output as the model's metadata names them (a model that `onward train`
// exported); what cannot be read counts as nothing.
Labels LabelsInMetadata(const Metadata& metadata);

// From the files that outputs name as label_filename, a label a line. They lie in `directory`, or
// below it: InvalidArgument for other paths and links that lead elsewhere, NotFound.
absl::StatusOr<Labels> ReadLabels(const config::ModelConfig& config, const std::string& directory);

}  // namespace onward::serving
