// Fields of a configuration that other fields leave without effect.
#pragma once

#include "onward/train_config.pb.h"
#include "training/config/config_problem.h"

namespace onward::training {

// The first field that is set and would do nothing, such as precision.loss_scale where no loss is
// scaled. Losses, optimizers and schedules have just their own fields; check_parts.h has the rest.
ConfigProblem UnusedField(const TrainConfig& config);

}  // namespace onward::training
