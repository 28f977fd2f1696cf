// Learning-rate schedules: functions of the number of steps that are done, with PyTorch's numbers
// (torch.optim.lr_scheduler; closed forms, so that a resumed run needs no history).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace onward::training {

// The settings of a group for the coming step; `momentum` is given by one-cycle alone (beta1
// for optimizers of Adam's kind).
struct ScheduleValue {
  double rate = 0;
  std::optional<double> momentum;
};

// `steps`: how many are done, 0 before the first. Thread-safe.
using Schedule = std::function<ScheduleValue(int64_t steps)>;

// rate, multiplied by `factor` for the first `total` steps.
Schedule ConstantSchedule(double rate, double factor = 1, int64_t total = 0);
// The factor goes from `start` to `end` in `total` steps and stays.
Schedule LinearSchedule(double rate, double start, double end, int64_t total);
// Multiplied by gamma after every `every` steps.
Schedule StepSchedule(double rate, int64_t every, double gamma);
// Multiplied by gamma at each milestone; one that is named twice counts twice.
Schedule MultiStepSchedule(double rate, std::vector<int64_t> milestones, double gamma);
Schedule ExponentialSchedule(double rate, double gamma);
// Half a cosine from `rate` to `least` in `total` steps; `hold`: it stays there (PyTorch's goes up
// again).
Schedule CosineSchedule(double rate, int64_t total, double least = 0, bool hold = false);
// SGDR (Loshchilov and Hutter, 2017): the first period has `first` steps, each next one is
// `multiplier` times as long.
Schedule CosineRestartsSchedule(double rate, int64_t first, int64_t multiplier = 1,
                                double least = 0);
Schedule PolynomialSchedule(double rate, int64_t total, double power = 1);

// Smith and Topin, "Super-Convergence", 2018.
struct OneCycle {
  double most = 0.1;  // the highest rate
  int64_t total = 0;
  double rising = 0.3;  // the share of steps in which the rate rises
  bool linear = false;  // else along a cosine
  bool three_phase = false;
  double first_divisor = 25;   // the first rate is most / first_divisor
  double last_divisor = 1e4;   // the last one the first / last_divisor
  bool cycle_momentum = true;  // against the rate
  double least_momentum = 0.85, most_momentum = 0.95;
};
Schedule OneCycleSchedule(const OneCycle& cycle);

// Warm-up, stable, decay (Hu et al., "MiniCPM", 2024): linear from 0, then constant, then linear or
// along 1 - sqrt down to `least`.
struct WarmupStableDecay {
  double rate = 0;
  int64_t warmup = 0, stable = 0, decay = 0;
  double least = 0;
  bool square_root = false;
};
Schedule WarmupStableDecaySchedule(const WarmupStableDecay& phases);

// `parts[i]` from milestone i - 1 on, each counting from its own beginning.
Schedule SequentialSchedule(std::vector<Schedule> parts, std::vector<int64_t> milestones);
// `rate` times what `factor` returns.
Schedule LambdaSchedule(double rate, std::function<double(int64_t steps)> factor);
// Chained: the factors that the parts put on `rate` multiply.
Schedule ProductSchedule(double rate, std::vector<Schedule> parts);

}  // namespace onward::training
