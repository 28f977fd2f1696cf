// The learning-rate schedule that a configuration names.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "training/config/train_config.pb.h"
#include "training/schedules/plateau.h"
#include "training/schedules/schedule.h"

namespace onward {

// `rate`: the optimizer's; `steps`: of the whole training. "plateau" is constant here (see
// PlateauOf). InvalidArgument: no such kind, with the known ones.
absl::StatusOr<Schedule> MakeSchedule(const ScheduleConfig& config, double rate, int64_t steps);

PlateauOptions PlateauOf(const ScheduleConfig& config, bool maximize);

}  // namespace onward
