// Fields of a configuration that other fields leave without effect.
#pragma once

#include "training/config/check_config.h"

namespace onward::training {

// The first field that is set and would do nothing, such as precision.loss_scale where no loss is
// scaled. Losses, optimizers and schedules have just their own fields; check_parts.h has the rest.
ConfigProblem UnusedField(const TrainConfig& config);

}  // namespace onward::training
