// The checks of what a configuration names one kind of each: the loss, the optimizer, the
// schedules. `prefix`: the path of the message with a dot. Each keeps the first problem.
#pragma once

#include <string>

#include "onward/train_config.pb.h"
#include "training/config/config_problem.h"

namespace onward::training {

void CheckLoss(const LossConfig& loss, const std::string& prefix, ConfigProblem& problem);
void CheckOptimizer(const OptimizerSettings& optimizer, ConfigProblem& problem);
void CheckSchedule(const ScheduleConfig& schedule, const std::string& prefix,
                   ConfigProblem& problem);

}  // namespace onward::training
