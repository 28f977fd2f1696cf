// The learning-rate schedule that a configuration names.
#pragma once

#include <cstdint>

#include "onward/train_config.pb.h"
#include "training/schedules/plateau.h"
#include "training/schedules/schedule.h"

namespace onward::training {

// The configuration is one that CheckTrainConfig accepts. `rate`: the optimizer's; `steps`: of the
// whole training; `steps_per_epoch`: at least 1. A plateau is constant here (see PlateauOf).
Schedule MakeSchedule(const ScheduleConfig& config, double rate, int64_t steps,
                      int64_t steps_per_epoch);

// The steps of the schedule's warm-up.
int64_t WarmupSteps(const ScheduleConfig& config, int64_t steps_per_epoch);

PlateauOptions PlateauOf(const ScheduleConfig::Plateau& config, bool maximize);

}  // namespace onward::training
