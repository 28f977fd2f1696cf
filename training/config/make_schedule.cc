#include "training/config/make_schedule.h"

#include <algorithm>
#include <utility>

namespace onward::training {
namespace {

// The steps that the kind states, else what is left.
template <typename Kind>
int64_t TotalOf(const Kind& kind, int64_t left) {
  return kind.has_total() ? kind.total() : left;
}

// Counts in the config's unit.
Schedule InOwnUnit(const ScheduleConfig& config, double rate, int64_t length);

Schedule OneCycleOf(const ScheduleConfig::OneCycle& config, double rate, int64_t left) {
  OneCycle cycle;
  cycle.most = rate;
  cycle.total = TotalOf(config, left);
  cycle.rising = config.pct_start();
  cycle.linear = config.anneal_strategy() == ScheduleConfig::OneCycle::LINEAR;
  cycle.three_phase = config.three_phase();
  cycle.first_divisor = config.div_factor();
  cycle.last_divisor = config.final_div_factor();
  cycle.cycle_momentum = config.cycle_momentum();
  cycle.least_momentum = config.base_momentum();
  cycle.most_momentum = config.max_momentum();
  return OneCycleSchedule(cycle);
}

Schedule SequentialOf(const ScheduleConfig::Sequential& config, double rate, int64_t left) {
  std::vector<Schedule> parts;
  for (int i = 0; i < config.schedule_size(); ++i) {
    const int64_t begin = i == 0 ? 0 : config.milestones(i - 1);
    const int64_t end = i < config.milestones_size() ? config.milestones(i) : left;
    parts.push_back(InOwnUnit(config.schedule(i), rate, end - begin));
  }
  return SequentialSchedule(std::move(parts),
                            {config.milestones().begin(), config.milestones().end()});
}

Schedule WsdOf(const ScheduleConfig::WSD& config, double rate, int64_t left) {
  WarmupStableDecay phases;
  phases.rate = rate;
  phases.decay = config.decay();
  phases.stable = config.has_stable() ? config.stable() : left - config.decay();
  phases.least = config.least();
  return WarmupStableDecaySchedule(phases);
}

// `left`: the steps or epochs of the training after the warm-up.
Schedule AfterWarmup(const ScheduleConfig& config, double rate, int64_t left) {
  switch (config.kind_case()) {
    case ScheduleConfig::kConstant:
      return ConstantSchedule(rate, config.constant().factor(), config.constant().total());
    case ScheduleConfig::kCosine:
      return CosineSchedule(rate, TotalOf(config.cosine(), left), config.cosine().least(),
                            /*hold=*/true);
    case ScheduleConfig::kCosineRestarts:
      return CosineRestartsSchedule(rate, config.cosine_restarts().t_0(),
                                    config.cosine_restarts().t_mult(),
                                    config.cosine_restarts().least());
    case ScheduleConfig::kExponential:
      return ExponentialSchedule(rate, config.exponential().gamma());
    case ScheduleConfig::kLinear:
      return LinearSchedule(rate, config.linear().start_factor(), config.linear().end_factor(),
                            TotalOf(config.linear(), left));
    case ScheduleConfig::kMultistep:
      return MultiStepSchedule(
          rate, {config.multistep().milestones().begin(), config.multistep().milestones().end()},
          config.multistep().gamma());
    case ScheduleConfig::kOneCycle:
      return OneCycleOf(config.one_cycle(), rate, left);
    case ScheduleConfig::kPolynomial:
      return PolynomialSchedule(rate, TotalOf(config.polynomial(), left),
                                config.polynomial().power());
    case ScheduleConfig::kSequential:
      return SequentialOf(config.sequential(), rate, left);
    case ScheduleConfig::kStep:
      return StepSchedule(rate, config.step().step_size(), config.step().gamma());
    case ScheduleConfig::kWsd:
      return WsdOf(config.wsd(), rate, left);
    case ScheduleConfig::kPlateau:
    case ScheduleConfig::KIND_NOT_SET:
      break;
  }
  return ConstantSchedule(rate);
}

Schedule InOwnUnit(const ScheduleConfig& config, double rate, int64_t length) {
  const int64_t warmup = config.warmup();
  Schedule after = AfterWarmup(config, rate, std::max<int64_t>(1, length - warmup));
  if (warmup == 0) return after;
  return SequentialSchedule(
      {LinearSchedule(rate, config.warmup_start(), 1, warmup), std::move(after)}, {warmup});
}

}  // namespace

Schedule MakeSchedule(const ScheduleConfig& config, double rate, int64_t steps,
                      int64_t steps_per_epoch) {
  if (config.unit() == ScheduleConfig::STEPS) return InOwnUnit(config, rate, steps);
  const int64_t epochs = (steps + steps_per_epoch - 1) / steps_per_epoch;
  return [schedule = InOwnUnit(config, rate, epochs), steps_per_epoch](int64_t step) {
    return schedule(step / steps_per_epoch);
  };
}

int64_t WarmupSteps(const ScheduleConfig& config, int64_t steps_per_epoch) {
  return config.unit() == ScheduleConfig::STEPS ? config.warmup()
                                                : config.warmup() * steps_per_epoch;
}

PlateauOptions PlateauOf(const ScheduleConfig::Plateau& config, bool maximize) {
  PlateauOptions options;
  options.maximize = maximize;
  options.factor = config.factor();
  options.patience = config.patience();
  options.least = config.least();
  options.threshold = config.threshold();
  options.relative = config.threshold_mode() == ScheduleConfig::Plateau::REL;
  options.cooldown = config.cooldown();
  options.epsilon = config.eps();
  return options;
}

}  // namespace onward::training
