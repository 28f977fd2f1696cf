// Which fields each kind of schedule has.
#pragma once

#include <string>

#include "training/config/train_config.pb.h"

namespace onward {

// The first field that the schedule's kind does not look at, with the reason; both empty where
// there is none, or where the kind is not known.
struct UnusedField {
  std::string field, reason;
};
UnusedField FindUnusedField(const ScheduleConfig& schedule);

}  // namespace onward
