// Checks of what the fields of a training's configuration may be, beyond their types.
#pragma once

#include "absl/status/status.h"
#include "onward/train_config.pb.h"
#include "training/config/config_problem.h"

namespace onward::training {

// The first problem: a required field that is missing, a value out of range, fields that exclude
// each other or that do nothing (unused_fields.h). `has_model`: the model is given beside it, which
// the config then must not name.
ConfigProblem CheckTrainConfig(const TrainConfig& config, bool has_model = false);

// InvalidArgument, for configurations that are made in C++ and have no line to name.
absl::Status StatusOf(const ConfigProblem& problem);

}  // namespace onward::training
