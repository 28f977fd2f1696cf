// Fields of a configuration that other fields leave without effect.
#pragma once

#include "training/config/check_config.h"

namespace onward {

// The first field that is set and would do nothing, such as precision.loss_scale where no loss is
// scaled. Schedules and the settings of losses have checks of their own (check_schedule.h,
// make_loss.h).
ConfigProblem UnusedField(const TrainConfig& config);

}  // namespace onward
