// The rates of a training's groups of parameters: their schedules, and what waits for a metric.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/train_config.pb.h"
#include "onward/training_report.h"
#include "training/optimizers/optimizer.h"
#include "training/schedules/schedule.h"
#include "training/step/progress.h"
#include "training/step/training_session.h"

namespace onward::training {

// The rate that the config gives a group.
double BaseRate(const GroupSettings& group);

// Gives the coming step a group's settings, with this rate and momentum. Nothing to do for LBFGS,
// which reads the step's report.
absl::Status SetRate(const GroupSettings& group, const ScheduleValue& value,
                     TrainingSession& session);

// Not thread-safe.
class Rates {
 public:
  using Factor = std::function<double(int64_t steps, int64_t group)>;

  // `groups`: in the config's order, the default one last. Plateaus are a part of `progress`; it
  // and `config` outlive the rates. `steps_per_epoch`: at least 1. `factor`:
  // TrainerOptions::rate_factor, or null.
  // InvalidArgument: a plateau without an evaluation.
  static absl::StatusOr<Rates> Create(const TrainConfig& config, std::vector<GroupSettings> groups,
                                      int64_t total_steps, int64_t steps_per_epoch,
                                      TrainingProgress& progress, Factor factor);

  // The steps of a warm-up that ends no sooner than the training; 0: of none.
  int64_t late_warmup() const { return late_warmup_; }
  // Gives the coming step its rates, and reports them. InvalidArgument: a factor that is negative
  // or not finite.
  absl::Status Set(TrainingSession& session, StepReport& report) const;
  // After an evaluation. Each group has its own state; evaluations while its rate warms up are not
  // counted.
  void NotePlateaus(double metric, bool maximize);

 private:
  Rates(const TrainConfig& config, std::vector<GroupSettings> groups, TrainingProgress& progress)
      : config_(&config), groups_(std::move(groups)), progress_(&progress) {}

  const ScheduleConfig* ScheduleOf(size_t group) const;  // null: the rate is constant
  ScheduleValue ValueOf(size_t group) const;             // of the coming step

  const TrainConfig* config_;
  std::vector<GroupSettings> groups_;
  TrainingProgress* progress_;
  std::vector<Schedule> schedules_;  // per group
  Factor factor_;
  int64_t steps_per_epoch_ = 1;
  int64_t late_warmup_ = 0;
};

}  // namespace onward::training
