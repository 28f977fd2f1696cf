// The devices on which a configuration's instance groups want a model to run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/log.h"
#include "serving/repository/model_config.pb.h"

namespace onward::serving {

struct InstancePlace {
  std::string provider;  // see SessionOptions
  size_t runs = 0;       // at a time; 0: as many as the cores allow
};

// At least one place, each provider once. `name`: the model's. `provider`: of groups that name no
// device; where it is "cpu" every group runs there, and the log says so of those that want a GPU. A
// group of KIND_GPU without `gpus` has instances on each device of this machine. InvalidArgument
// names the field, what was expected and what it has.
absl::StatusOr<std::vector<InstancePlace>> InstancePlacesOf(const std::string& name,
                                                            const config::ModelConfig& config,
                                                            const std::string& provider,
                                                            const LogSink& log);

// Makes the configuration say where its instances are, where it says nothing.
void SetInstancePlaces(const std::string& name, const std::vector<InstancePlace>& places,
                       config::ModelConfig& config);

}  // namespace onward::serving
