// Reads the configuration of a model: config.pbtxt, or the JSON that a load request carries.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onward/log.h"
#include "serving/repository/model_config.pb.h"

namespace onward::serving {

inline constexpr size_t kMostConfigBytes = 1 << 20;

// An empty one, in an arena of its own, which frees it as a whole. Protobuf notes that a part is
// there before it has memory for it: where that lacks, a destructor would free what was never made.
std::shared_ptr<config::ModelConfig> NewConfig();

// Fields that are not known are named in warnings to `log` and left out. InvalidArgument says line
// and column of what cannot be read. `name` is the model's, for warnings.
absl::StatusOr<config::ModelConfig> ReadConfigText(std::string_view text, std::string_view name,
                                                   const LogSink& log);
absl::StatusOr<config::ModelConfig> ReadConfigJson(std::string_view json, std::string_view name,
                                                   const LogSink& log);

// ReadConfigText of the config.pbtxt in a model's directory; an empty one where there is none.
absl::StatusOr<config::ModelConfig> ReadConfigFile(const std::string& directory,
                                                   std::string_view name, const LogSink& log);

}  // namespace onward::serving
