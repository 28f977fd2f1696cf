// Makes the versions of a model from where it lies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/repository/load_context.h"
#include "serving/repository/load_request.h"
#include "serving/repository/model_directory.h"
#include "serving/served_model.h"

namespace onward::serving {

// The versions that the configuration chooses, warmed up. Errors name model and version, and may
// have paths.
absl::StatusOr<std::vector<std::shared_ptr<ServedModel>>> LoadModel(const ModelSource& source,
                                                                    const LoadRequest& request,
                                                                    const LoadContext& context);

}  // namespace onward::serving
