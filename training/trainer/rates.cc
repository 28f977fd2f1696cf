#include "training/trainer/rates.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/config/make_schedule.h"

namespace onward::training {
namespace {

bool IsPlateau(const ScheduleConfig* schedule) {
  return schedule != nullptr && schedule->has_plateau();
}

}  // namespace

double BaseRate(const GroupSettings& group) {
  const auto rate = std::find(group.settings.begin(), group.settings.end(), "lr");
  return rate == group.settings.end()
             ? 0
             : group.values[static_cast<size_t>(rate - group.settings.begin())];
}

absl::Status SetRate(const GroupSettings& group, const ScheduleValue& value,
                     TrainingSession& session) {
  if (group.input.empty()) return absl::OkStatus();
  Tensor settings(DType::kFloat64, {static_cast<int64_t>(group.values.size())});
  for (size_t k = 0; k < group.values.size(); ++k) {
    double& setting = settings.mutable_data<double>()[k] = group.values[k];
    if (group.settings[k] == "lr") setting = value.rate;
    if (value.momentum && (group.settings[k] == "momentum" || group.settings[k] == "beta1"))
      setting = *value.momentum;
  }
  return session.Set(group.input, std::move(settings));
}

absl::StatusOr<Rates> Rates::Create(const TrainConfig& config, std::vector<GroupSettings> groups,
                                    int64_t total_steps, int64_t steps_per_epoch,
                                    TrainingProgress& progress, Factor factor) {
  Rates made(config, std::move(groups), progress);
  made.steps_per_epoch_ = steps_per_epoch;
  made.factor_ = std::move(factor);
  for (size_t i = 0; i < made.groups_.size(); ++i) {
    const double start = BaseRate(made.groups_[i]);
    const ScheduleConfig* schedule = made.ScheduleOf(i);
    if (schedule == nullptr) {
      made.schedules_.push_back(ConstantSchedule(start));
      continue;
    }
    // A plateau's schedule is a factor of the rate that its state has: 1, but for its warm-up.
    const bool plateau = IsPlateau(schedule);
    made.schedules_.push_back(
        MakeSchedule(*schedule, plateau ? 1 : start, total_steps, steps_per_epoch));
    const int64_t warmup = WarmupSteps(*schedule, steps_per_epoch);
    if (warmup >= total_steps && total_steps > 0 && made.late_warmup_ == 0)
      made.late_warmup_ = warmup;
    if (!plateau) continue;
    if (!config.has_evaluation())
      return absl::InvalidArgumentError("schedule: plateau needs an evaluation to look at");
    progress.plateaus[static_cast<int64_t>(i)].rate = start;
  }
  return made;
}

const ScheduleConfig* Rates::ScheduleOf(size_t group) const {
  const auto& groups = config_->optimizer().group();
  if (group < static_cast<size_t>(groups.size()) && groups[static_cast<int>(group)].has_schedule())
    return &groups[static_cast<int>(group)].schedule();
  return config_->has_schedule() ? &config_->schedule() : nullptr;
}

ScheduleValue Rates::ValueOf(size_t group) const {
  ScheduleValue value = schedules_[group](progress_->step);
  const auto plateau = progress_->plateaus.find(static_cast<int64_t>(group));
  if (IsPlateau(ScheduleOf(group)) && plateau != progress_->plateaus.end())
    value.rate *= plateau->second.rate;
  return value;
}

absl::Status Rates::Set(TrainingSession& session, StepReport& report) const {
  for (size_t i = 0; i < groups_.size(); ++i) {
    ScheduleValue value = ValueOf(i);
    if (factor_ != nullptr) {
      const double factor = factor_(progress_->step, static_cast<int64_t>(i));
      if (!(factor >= 0) || !std::isfinite(factor))
        return absl::InvalidArgumentError(
            absl::StrCat("TrainerOptions::rate_factor returns ", factor, " after ", progress_->step,
                         " steps, expected a finite number of at least 0"));
      value.rate *= factor;
    }
    report.rates.push_back(value.rate);
    ONWARD_RETURN_IF_ERROR(SetRate(groups_[i], value, session));
  }
  report.rate = report.rates.back();
  return absl::OkStatus();
}

void Rates::NotePlateaus(double metric, bool maximize) {
  for (auto& [group, state] : progress_->plateaus) {
    const ScheduleConfig* schedule = ScheduleOf(static_cast<size_t>(group));
    if (!IsPlateau(schedule) || progress_->step < WarmupSteps(*schedule, steps_per_epoch_))
      continue;
    state = NextPlateau(PlateauOf(schedule->plateau(), maximize), state, metric);
  }
}

}  // namespace onward::training
