// Which fields each kind of schedule has.
#pragma once

#include "training/config/check_config.h"

namespace onward {

// The first field that the schedule's kind does not look at, with the reason; both empty where
// there is none, or where the kind is not known.
ConfigProblem FindUnusedField(const ScheduleConfig& schedule);

}  // namespace onward
