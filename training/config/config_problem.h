// The fault that a check finds in a training's configuration.
#pragma once

#include <string>

namespace onward::training {

struct ConfigProblem {
  std::string field;   // "batch_size", "schedule.warmup"; "" when the config is sound
  std::string reason;  // "must be at least 1, got 0"
};

}  // namespace onward::training
