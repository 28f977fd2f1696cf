// Runs that a model makes before it is ready, so that its first client does not wait for what
// first runs do.
#pragma once

#include "absl/status/status.h"
#include "onward/session.h"
#include "serving/repository/model_config.pb.h"

namespace onward::serving {

// Runs what the configuration's model_warmup asks for, with zeros or random data. InvalidArgument
// names the warm-up and what of it does not fit the model; errors as Session::Run.
absl::Status RunWarmUp(const config::ModelConfig& config, Session& session);

}  // namespace onward::serving
