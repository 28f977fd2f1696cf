#include "training/config/make_schedule.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"

namespace onward {
namespace {

using Made = absl::StatusOr<Schedule>;
using Make = Made (*)(const ScheduleConfig& config, double rate, int64_t total);

Made Constant(const ScheduleConfig& config, double rate, int64_t) {
  return ConstantSchedule(rate, config.start_factor(), config.total());
}
Made Cosine(const ScheduleConfig& config, double rate, int64_t total) {
  return CosineSchedule(rate, total, config.least(), /*hold=*/true);
}
Made CosineRestarts(const ScheduleConfig& config, double rate, int64_t) {
  return CosineRestartsSchedule(rate, config.every(), config.multiplier(), config.least());
}
Made Exponential(const ScheduleConfig& config, double rate, int64_t) {
  return ExponentialSchedule(rate, config.gamma());
}
Made Linear(const ScheduleConfig& config, double rate, int64_t total) {
  return LinearSchedule(rate, config.start_factor(), config.end_factor(), total);
}
Made MultiStep(const ScheduleConfig& config, double rate, int64_t) {
  return MultiStepSchedule(rate, {config.milestone().begin(), config.milestone().end()},
                           config.gamma());
}
Made OneCycleOf(const ScheduleConfig& config, double rate, int64_t total) {
  OneCycle cycle;
  cycle.most = rate;
  cycle.total = total;
  cycle.rising = config.rising();
  return OneCycleSchedule(cycle);
}
Made Polynomial(const ScheduleConfig& config, double rate, int64_t total) {
  return PolynomialSchedule(rate, total, config.power());
}
Made Sequential(const ScheduleConfig& config, double rate, int64_t total) {
  std::vector<Schedule> parts;
  for (int i = 0; i < config.part_size(); ++i) {
    const int64_t begin = i == 0 ? 0 : config.milestone(i - 1);
    const int64_t end = i < config.milestone_size() ? config.milestone(i) : total;
    ONWARD_ASSIGN_OR_RETURN(Schedule part, MakeSchedule(config.part(i), rate, end - begin));
    parts.push_back(std::move(part));
  }
  return SequentialSchedule(std::move(parts),
                            {config.milestone().begin(), config.milestone().end()});
}
Made Step(const ScheduleConfig& config, double rate, int64_t) {
  return StepSchedule(rate, config.every(), config.gamma());
}
Made Wsd(const ScheduleConfig& config, double rate, int64_t total) {
  WarmupStableDecay phases;
  phases.rate = rate;
  phases.decay = config.decay();
  phases.stable = config.has_stable() ? config.stable() : total - config.decay();
  phases.least = config.least();
  return WarmupStableDecaySchedule(phases);
}

constexpr std::pair<std::string_view, Make> kSchedules[] = {
    {"constant", Constant},       {"cosine", Cosine},    {"cosine_restarts", CosineRestarts},
    {"exponential", Exponential}, {"linear", Linear},    {"multistep", MultiStep},
    {"one_cycle", OneCycleOf},    {"plateau", Constant}, {"polynomial", Polynomial},
    {"sequential", Sequential},   {"step", Step},        {"wsd", Wsd},
};

}  // namespace

absl::StatusOr<Schedule> MakeSchedule(const ScheduleConfig& config, double rate, int64_t steps) {
  const auto* entry = std::find_if(std::begin(kSchedules), std::end(kSchedules),
                                   [&](const auto& each) { return each.first == config.kind(); });
  if (entry == std::end(kSchedules)) {
    std::string known;
    for (const auto& each : kSchedules)
      absl::StrAppend(&known, known.empty() ? "" : ", ", std::string(each.first));
    return absl::InvalidArgumentError(
        absl::StrCat("there is no schedule '", config.kind(), "'; there are ", known));
  }
  const int64_t warmup = config.warmup();
  const int64_t total = config.has_total() ? config.total() : std::max<int64_t>(1, steps - warmup);
  ONWARD_ASSIGN_OR_RETURN(Schedule after, entry->second(config, rate, total));
  if (warmup == 0) return after;
  return SequentialSchedule({LinearSchedule(rate, config.warmup_start(), 1, warmup), after},
                            {warmup});
}

PlateauOptions PlateauOf(const ScheduleConfig& config, bool maximize) {
  PlateauOptions options;
  options.maximize = maximize;
  options.factor = config.gamma();
  options.patience = config.patience();
  options.least = config.least();
  options.threshold = config.threshold();
  options.relative = config.threshold_mode() != "abs";
  options.cooldown = config.cooldown();
  return options;
}

}  // namespace onward
