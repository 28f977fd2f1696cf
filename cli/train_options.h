// Applies the common options of the command line to a training's config.
#pragma once

#include "absl/status/status.h"
#include "cli/command.h"
#include "onward/train_config.pb.h"

namespace onward::cli {

// Options that are given go before the config. Unimplemented: another provider than the cpu.
absl::Status ApplyCommonOptions(const CommonOptions& common, TrainConfig& config);

}  // namespace onward::cli
