// The rates of a trainer's groups: their schedules, and what waits for a metric.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "training/config/make_schedule.h"
#include "training/trainer/trainer.h"

namespace onward {
namespace {

bool IsPlateau(const ScheduleConfig* schedule) {
  return schedule != nullptr && schedule->kind() == "plateau";
}

double BaseRate(const GroupSettings& group) {
  const auto rate = std::find(group.settings.begin(), group.settings.end(), "lr");
  return rate == group.settings.end()
             ? 0
             : group.values[static_cast<size_t>(rate - group.settings.begin())];
}

}  // namespace

int64_t Trainer::steps_per_epoch() const {
  return (loader_->batches_per_epoch() + config_.accumulate() - 1) / config_.accumulate();
}

int64_t Trainer::TotalSteps() const {
  return config_.has_steps() ? config_.steps() : config_.epochs() * steps_per_epoch();
}

const ScheduleConfig* Trainer::ScheduleOf(size_t group) const {
  const auto& groups = config_.optimizer().group();
  if (group < static_cast<size_t>(groups.size()) && groups[static_cast<int>(group)].has_schedule())
    return &groups[static_cast<int>(group)].schedule();
  return config_.has_schedule() ? &config_.schedule() : nullptr;
}

// A plateau's schedule is a factor of the rate that its state has: 1, but for its warm-up.
absl::Status Trainer::MakeSchedules() {
  total_steps_ = TotalSteps();
  bool warned = false;
  for (size_t i = 0; i < phases_.groups.size(); ++i) {
    const double start = BaseRate(phases_.groups[i]);
    const ScheduleConfig* schedule = ScheduleOf(i);
    if (schedule == nullptr) {
      schedules_.push_back(ConstantSchedule(start));
      continue;
    }
    const bool plateau = IsPlateau(schedule);
    ONWARD_ASSIGN_OR_RETURN(Schedule made,
                            MakeSchedule(*schedule, plateau ? 1 : start, total_steps_));
    schedules_.push_back(std::move(made));
    if (schedule->warmup() >= total_steps_ && total_steps_ > 0 && schedule->warmup() > 0 &&
        !std::exchange(warned, true)) {
      Warn(absl::StrCat("schedule.warmup: ", schedule->warmup(), " steps, the training has ",
                        total_steps_, ": it ends before the rate reaches lr"));
    }
    if (!plateau) continue;
    if (!config_.has_evaluation())
      return absl::InvalidArgumentError("schedule: plateau needs an evaluation to look at");
    progress_.plateaus[static_cast<int64_t>(i)].rate = start;
  }
  return absl::OkStatus();
}

// Of the coming step.
ScheduleValue Trainer::ValueOf(size_t group) const {
  ScheduleValue value = schedules_[group](progress_.step);
  const auto plateau = progress_.plateaus.find(static_cast<int64_t>(group));
  if (IsPlateau(ScheduleOf(group)) && plateau != progress_.plateaus.end())
    value.rate *= plateau->second.rate;
  return value;
}

void Trainer::ReportRates(StepReport& report) const {
  for (size_t i = 0; i < phases_.groups.size(); ++i) report.rates.push_back(ValueOf(i).rate);
  report.rate = report.rates.back();
}

absl::Status Trainer::SetRates() {
  for (size_t i = 0; i < phases_.groups.size(); ++i) {
    const GroupSettings& group = phases_.groups[i];
    const ScheduleValue value = ValueOf(i);
    Tensor settings(DType::kFloat64, {static_cast<int64_t>(group.values.size())});
    for (size_t k = 0; k < group.values.size(); ++k) {
      double& setting = settings.mutable_data<double>()[k] = group.values[k];
      if (group.settings[k] == "lr") setting = value.rate;
      if (value.momentum && (group.settings[k] == "momentum" || group.settings[k] == "beta1"))
        setting = *value.momentum;
    }
    ONWARD_RETURN_IF_ERROR(session_->Set(group.input, std::move(settings)));
  }
  return absl::OkStatus();
}

// Each group has its own state. Evaluations while a rate warms up are not counted.
void Trainer::NotePlateaus(double metric, bool maximize) {
  for (auto& [group, state] : progress_.plateaus) {
    const ScheduleConfig* schedule = ScheduleOf(static_cast<size_t>(group));
    if (!IsPlateau(schedule) || progress_.step < schedule->warmup()) continue;
    state = NextPlateau(PlateauOf(*schedule, maximize), state, metric);
  }
}

}  // namespace onward
