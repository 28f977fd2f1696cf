// The configuration of a model as the protocol shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "serving/repository/model_config.pb.h"

namespace onward::serving {

// Names of fields as in the file, numbers as numbers, enumerators by name; defaults are written
// out, messages that are not set are left out.
nlohmann::json ConfigJson(const config::ModelConfig& config);

}  // namespace onward::serving
