// Runs that a model makes before it is ready, so that its first client does not wait for what
// first runs do.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "onward/session.h"
#include "serving/repository/model_config.pb.h"

namespace onward::serving {

// Runs what the configuration's model_warmup asks for: zeros, random data, or one row from a file
// of the folder "warmup" in the model's `directory`, as often as the batch has rows.
// InvalidArgument names the warm-up and what of it does not fit the model; errors as Session::Run
// and ReadModelTensor.
absl::Status RunWarmUp(const config::ModelConfig& config, const std::string& directory,
                       Session& session);

}  // namespace onward::serving
