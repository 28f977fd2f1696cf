#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "training/schedules/schedule.h"

namespace onward::training {
namespace {

// Half a cosine from `from` (at 0) to `to` (at 1).
double Cosine(double from, double to, double share) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * share));
}

double Linear(double from, double to, double share) { return from + (to - from) * share; }

double Ratio(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Schedule ConstantSchedule(double rate, double factor, int64_t total) {
  return [=](int64_t steps) -> ScheduleValue { return {steps < total ? rate * factor : rate, {}}; };
}

Schedule LinearSchedule(double rate, double start, double end, int64_t total) {
  return [=](int64_t steps) -> ScheduleValue {
    if (steps >= total) return {rate * end, {}};
    return {rate * Linear(start, end, Ratio(steps, total)), {}};
  };
}

Schedule StepSchedule(double rate, int64_t every, double gamma) {
  return [=](int64_t steps) -> ScheduleValue {
    return {rate * std::pow(gamma, static_cast<double>(steps / every)), {}};
  };
}

Schedule MultiStepSchedule(double rate, std::vector<int64_t> milestones, double gamma) {
  return [=](int64_t steps) -> ScheduleValue {
    const auto passed = std::count_if(milestones.begin(), milestones.end(),
                                      [&](int64_t milestone) { return milestone <= steps; });
    return {rate * std::pow(gamma, static_cast<double>(passed)), {}};
  };
}

Schedule ExponentialSchedule(double rate, double gamma) {
  return [=](int64_t steps) -> ScheduleValue {
    return {rate * std::pow(gamma, static_cast<double>(steps)), {}};
  };
}

Schedule CosineSchedule(double rate, int64_t total, double least, bool hold) {
  return [=](int64_t steps) -> ScheduleValue {
    if (hold && steps >= total) return {least, {}};
    return {Cosine(rate, least, Ratio(steps, total)), {}};
  };
}

Schedule CosineRestartsSchedule(double rate, int64_t first, int64_t multiplier, double least) {
  return [=](int64_t steps) -> ScheduleValue {
    int64_t period = first, into = steps;
    if (multiplier == 1) into %= period;
    for (; into >= period; period *= multiplier) into -= period;
    return {Cosine(rate, least, Ratio(into, period)), {}};
  };
}

Schedule PolynomialSchedule(double rate, int64_t total, double power) {
  return [=](int64_t steps) -> ScheduleValue {
    return {rate * std::pow(1 - Ratio(std::min(steps, total), total), power), {}};
  };
}

Schedule OneCycleSchedule(const OneCycle& c) {
  struct Phase {
    double end;  // in steps
    double from, to;
    double momentum_from, momentum_to;
  };
  const double first = c.most / c.first_divisor, last = first / c.last_divisor;
  const auto total = static_cast<double>(c.total);
  const double top = c.rising * total - 1;
  std::vector<Phase> phases = {{top, first, c.most, c.most_momentum, c.least_momentum}};
  if (c.three_phase) {
    phases.push_back({2 * c.rising * total - 2, c.most, first, c.least_momentum, c.most_momentum});
    phases.push_back({total - 1, first, last, c.most_momentum, c.most_momentum});
  } else {
    phases.push_back({total - 1, c.most, last, c.least_momentum, c.most_momentum});
  }
  const auto anneal = c.linear ? Linear : Cosine;
  return [phases, anneal, cycle = c.cycle_momentum](int64_t steps) {
    const auto at = static_cast<double>(steps);
    double begin = 0;
    size_t i = 0;
    for (; i + 1 < phases.size() && at > phases[i].end; ++i) begin = phases[i].end;
    const Phase& phase = phases[i];
    const double share = std::min(1.0, (at - begin) / (phase.end - begin));
    ScheduleValue value{anneal(phase.from, phase.to, share), {}};
    if (cycle) value.momentum = anneal(phase.momentum_from, phase.momentum_to, share);
    return value;
  };
}

Schedule WarmupStableDecaySchedule(const WarmupStableDecay& p) {
  return [p](int64_t steps) -> ScheduleValue {
    if (steps < p.warmup) return {p.rate * Ratio(steps, p.warmup), {}};
    if (steps < p.warmup + p.stable) return {p.rate, {}};
    const int64_t into = steps - p.warmup - p.stable;
    if (into >= p.decay) return {p.least, {}};
    const double share = Ratio(into, p.decay);
    return {Linear(p.rate, p.least, p.square_root ? std::sqrt(share) : share), {}};
  };
}

Schedule SequentialSchedule(std::vector<Schedule> parts, std::vector<int64_t> milestones) {
  return [parts = std::move(parts), milestones = std::move(milestones)](int64_t steps) {
    const auto after = std::upper_bound(milestones.begin(), milestones.end(), steps);
    const auto index = static_cast<size_t>(after - milestones.begin());
    return parts[index](index == 0 ? steps : steps - milestones[index - 1]);
  };
}

Schedule LambdaSchedule(double rate, std::function<double(int64_t)> factor) {
  return [=, factor = std::move(factor)](int64_t steps) -> ScheduleValue {
    return {rate * factor(steps), {}};
  };
}

Schedule ProductSchedule(double rate, std::vector<Schedule> parts) {
  return [=, parts = std::move(parts)](int64_t steps) {
    ScheduleValue value{rate, {}};
    for (const Schedule& part : parts) {
      const ScheduleValue each = part(steps);
      value.rate *= each.rate / rate;
      if (each.momentum) value.momentum = each.momentum;
    }
    return value;
  };
}

}  // namespace onward::training
