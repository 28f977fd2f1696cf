// Checks a model's configuration against the model itself.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onward/interface.h"
#include "serving/repository/model_config.pb.h"

namespace onward::serving {

// Checks the configuration against the model and fills in what it leaves out: name, platform,
// inputs and outputs with types and dims, version policy, instances. InvalidArgument names the
// field, what was expected and what it has; Unimplemented: what is not served (other kinds of
// models, reshaping).
absl::Status CompleteConfig(const std::string& name, const std::vector<ValueInfo>& inputs,
                            const std::vector<ValueInfo>& outputs, config::ModelConfig& config);

}  // namespace onward::serving
