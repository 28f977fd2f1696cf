#include "training/schedules/plateau.h"

#include <algorithm>
#include <cmath>

namespace onward::training {
namespace {

bool IsBetter(const PlateauOptions& options, double best, double metric) {
  if (std::isnan(best)) return !std::isnan(metric);
  const double sign = options.maximize ? 1 : -1;
  const double bar =
      options.relative ? best * (1 + sign * options.threshold) : best + sign * options.threshold;
  return options.maximize ? metric > bar : metric < bar;
}

}  // namespace

PlateauState NextPlateau(const PlateauOptions& options, PlateauState state, double metric) {
  if (IsBetter(options, state.best, metric)) {
    state.best = metric;
    state.bad = 0;
  } else {
    ++state.bad;
  }
  if (state.cooldown > 0) {
    --state.cooldown;
    state.bad = 0;
  }
  if (state.bad > options.patience) {
    const double next = std::max(state.rate * options.factor, options.least);
    if (state.rate - next > options.epsilon) state.rate = next;
    state.cooldown = options.cooldown;
    state.bad = 0;
  }
  return state;
}

}  // namespace onward::training
