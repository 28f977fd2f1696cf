// Configurations of training from files: text format (.textproto) or JSON of onward.TrainConfig.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/train_config.pb.h"

namespace onward {

// Reads the file, applies the overrides ("optimizer.adamw.lr=0.1", see ApplyOverride) and checks
// what every field may be. InvalidArgument names the file with line and column (an override:
// itself) and the field.
absl::StatusOr<TrainConfig> ReadTrainConfig(const std::string& path,
                                            const std::vector<std::string>& overrides = {});

// A whole config in text format, as checkpoints keep it. InvalidArgument: it is not one, such as
// one in a spelling of an earlier version, which the message names.
absl::StatusOr<TrainConfig> ParseTrainConfig(const std::string& text);

}  // namespace onward
