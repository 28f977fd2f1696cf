// The rules of steps (StepRule), for CPU and CUDA loops alike. Included once per instruction set,
// and once for the device: ONWARD_STEP_RULES says into which namespace, as functions that were
// compiled for one instruction set must not be taken for another one. Arithmetic is that of the
// formulas in graph/optimizers, element by element.
#include <cmath>

#include "kernels/functor.h"
#include "kernels/optimizer_steps.h"

namespace onward::kernels::ONWARD_STEP_RULES {

// A rule: what a step's numbers become in T, once, and how one element changes. `state` holds the
// element's state and receives the next one.
template <bool kMomentum, bool kNesterov>
struct SgdRule {
  static constexpr int kSettings = SgdSettings::kCount, kStates = kMomentum ? 1 : 0;
  template <typename T>
  struct Numbers {
    T rate, momentum, damped, decay;
    bool first;
    ONWARD_HOST_DEVICE Numbers(const double* settings, double step)
        : rate(static_cast<T>(settings[SgdSettings::kLr])),
          momentum(static_cast<T>(settings[SgdSettings::kMomentum])),
          damped(static_cast<T>(1 - settings[SgdSettings::kDampening])),
          decay(static_cast<T>(settings[SgdSettings::kWeightDecay])),
          first(step == 1) {}
    ONWARD_HOST_DEVICE T Next(T p, T g, T* state) const {
      g = g + decay * p;
      if constexpr (kMomentum) {
        state[0] = first ? g : state[0] * momentum + damped * g;
        g = kNesterov ? g + momentum * state[0] : state[0];
      }
      return p - rate * g;
    }
  };
};

// The part that Adam and its kin share: decay, coupled to the gradient or not, and two moments in
// the states 0 and 1.
template <bool kDecoupled, typename T>
struct Moments {
  T first_weight, beta2, second_weight, epsilon, decay, shrink;
  ONWARD_HOST_DEVICE explicit Moments(const double* settings)
      : first_weight(static_cast<T>(1 - settings[AdamSettings::kBeta1])),
        beta2(static_cast<T>(settings[AdamSettings::kBeta2])),
        second_weight(static_cast<T>(1 - settings[AdamSettings::kBeta2])),
        epsilon(static_cast<T>(settings[AdamSettings::kEps])),
        decay(static_cast<T>(settings[AdamSettings::kWeightDecay])),
        shrink(static_cast<T>(1 - settings[AdamSettings::kLr] *
                                      settings[AdamSettings::kWeightDecay])) {}
  // Returns p after decay.
  ONWARD_HOST_DEVICE T Update(T p, T g, T* state) const {
    if constexpr (!kDecoupled) g = g + decay * p;
    return Follow(p, g, state);
  }
  // The same of a gradient that has its decay.
  ONWARD_HOST_DEVICE T Follow(T p, T g, T* state) const {
    state[0] = state[0] + first_weight * (g - state[0]);
    state[1] = state[1] * beta2 + second_weight * g * g;
    return kDecoupled ? p * shrink : p;
  }
};

template <bool kDecoupled, bool kLargest>
struct AdamRule {
  static constexpr int kSettings = AdamSettings::kCount, kStates = kLargest ? 3 : 2;
  template <typename T>
  struct Numbers {
    Moments<kDecoupled, T> moments;
    T rate, root;
    ONWARD_HOST_DEVICE Numbers(const double* settings, double step)
        : moments(settings),
          rate(static_cast<T>(settings[AdamSettings::kLr] /
                              (1 - std::pow(settings[AdamSettings::kBeta1], step)))),
          root(static_cast<T>(std::sqrt(1 - std::pow(settings[AdamSettings::kBeta2], step)))) {}
    ONWARD_HOST_DEVICE T Next(T p, T g, T* state) const {
      p = moments.Update(p, g, state);
      T largest = state[1];
      if constexpr (kLargest) {
        // NaN stays.
        largest = state[2] = state[2] > state[1] || state[2] != state[2] ? state[2] : state[1];
      }
      return p - rate * (state[0] / (std::sqrt(largest) / root + moments.epsilon));
    }
  };
};

struct AdagradRule {
  static constexpr int kSettings = AdagradSettings::kCount, kStates = 1;
  template <typename T>
  struct Numbers {
    T rate, epsilon, decay;
    ONWARD_HOST_DEVICE Numbers(const double* settings, double step)
        : rate(static_cast<T>(settings[AdagradSettings::kLr] /
                              (1 + (step - 1) * settings[AdagradSettings::kLrDecay]))),
          epsilon(static_cast<T>(settings[AdagradSettings::kEps])),
          decay(static_cast<T>(settings[AdagradSettings::kWeightDecay])) {}
    ONWARD_HOST_DEVICE T Next(T p, T g, T* state) const {
      g = g + decay * p;
      state[0] = state[0] + g * g;
      return p - rate * (g / (std::sqrt(state[0]) + epsilon));
    }
  };
};

struct LionRule {
  static constexpr int kSettings = LionSettings::kCount, kStates = 1;
  template <typename T>
  struct Numbers {
    T rate, first_weight, second_weight, shrink;
    ONWARD_HOST_DEVICE Numbers(const double* settings, double)
        : rate(static_cast<T>(settings[LionSettings::kLr])),
          first_weight(static_cast<T>(1 - settings[LionSettings::kBeta1])),
          second_weight(static_cast<T>(1 - settings[LionSettings::kBeta2])),
          shrink(static_cast<T>(1 - settings[LionSettings::kLr] *
                                        settings[LionSettings::kWeightDecay])) {}
    ONWARD_HOST_DEVICE T Next(T p, T g, T* state) const {
      const T mixed = state[0] + first_weight * (g - state[0]);
      const T sign = mixed > 0 ? T(1) : mixed < 0 ? T(-1) : mixed;
      state[0] = state[0] + second_weight * (g - state[0]);
      return p * shrink - rate * sign;
    }
  };
};

// kCentered only with kMomentum.
template <bool kMomentum, bool kCentered>
struct RMSpropRule {
  static constexpr int kSettings = RMSpropSettings::kCount, kStates = 1 + kMomentum + kCentered;
  template <typename T>
  struct Numbers {
    T rate, alpha, weight, epsilon, decay, momentum;
    ONWARD_HOST_DEVICE Numbers(const double* settings, double)
        : rate(static_cast<T>(settings[RMSpropSettings::kLr])),
          alpha(static_cast<T>(settings[RMSpropSettings::kAlpha])),
          weight(static_cast<T>(1 - settings[RMSpropSettings::kAlpha])),
          epsilon(static_cast<T>(settings[RMSpropSettings::kEps])),
          decay(static_cast<T>(settings[RMSpropSettings::kWeightDecay])),
          momentum(static_cast<T>(settings[RMSpropSettings::kMomentum])) {}
    ONWARD_HOST_DEVICE T Next(T p, T g, T* state) const {
      g = g + decay * p;
      state[0] = state[0] * alpha + weight * g * g;
      T variance = state[0];
      if constexpr (kCentered) {
        state[2] = state[2] + weight * (g - state[2]);
        variance = variance - state[2] * state[2];
      }
      T change = g / (std::sqrt(variance) + epsilon);
      if constexpr (kMomentum) change = state[1] = state[1] * momentum + change;
      return p - rate * change;
    }
  };
};

struct AdadeltaRule {
  static constexpr int kSettings = AdadeltaSettings::kCount, kStates = 2;
  template <typename T>
  struct Numbers {
    T rate, rho, weight, epsilon, decay;
    ONWARD_HOST_DEVICE Numbers(const double* settings, double)
        : rate(static_cast<T>(settings[AdadeltaSettings::kLr])),
          rho(static_cast<T>(settings[AdadeltaSettings::kRho])),
          weight(static_cast<T>(1 - settings[AdadeltaSettings::kRho])),
          epsilon(static_cast<T>(settings[AdadeltaSettings::kEps])),
          decay(static_cast<T>(settings[AdadeltaSettings::kWeightDecay])) {}
    ONWARD_HOST_DEVICE T Next(T p, T g, T* state) const {
      g = g + decay * p;
      state[0] = state[0] * rho + weight * g * g;
      const T change = std::sqrt(state[1] + epsilon) / std::sqrt(state[0] + epsilon) * g;
      state[1] = state[1] * rho + weight * change * change;
      return p - rate * change;
    }
  };
};

template <bool kDecoupled>
struct RAdamRule {
  static constexpr int kSettings = AdamSettings::kCount, kStates = 2;
  template <typename T>
  struct Numbers {
    Moments<kDecoupled, T> moments;
    T rate, correction, adaptive;
    bool rectified;
    ONWARD_HOST_DEVICE Numbers(const double* settings, double step)
        : moments(settings),
          rate(static_cast<T>(settings[AdamSettings::kLr])),
          correction(static_cast<T>(1 - std::pow(settings[AdamSettings::kBeta1], step))) {
      const double power = std::pow(settings[AdamSettings::kBeta2], step),
                   longest = 2 / (1 - settings[AdamSettings::kBeta2]) - 1;
      const double length = longest - 2 * step * power / (1 - power);
      rectified = length > 5;
      const double rectification = std::sqrt((length - 4) * (length - 2) * longest /
                                             ((longest - 4) * (longest - 2) * length));
      adaptive = rectified ? static_cast<T>(std::sqrt(1 - power) * rectification) : T(1);
    }
    ONWARD_HOST_DEVICE T Next(T p, T g, T* state) const {
      p = moments.Update(p, g, state);
      const T scale = rectified ? adaptive / (std::sqrt(state[1]) + moments.epsilon) : T(1);
      return p - rate * (state[0] / correction) * scale;
    }
  };
};

// Settings end with the product of the momenta so far.
template <bool kDecoupled>
struct NAdamRule {
  static constexpr int kSettings = NAdamSettings::kCount, kStates = 2;
  ONWARD_HOST_DEVICE static double MomentumAt(const double* settings, double step) {
    return settings[NAdamSettings::kBeta1] *
           (1 - std::pow(0.96, step * settings[NAdamSettings::kMomentumDecay]) * 0.5);
  }
  ONWARD_HOST_DEVICE static double NextScalar(const double* settings, double step) {
    return settings[NAdamSettings::kCount] * MomentumAt(settings, step);
  }
  template <typename T>
  struct Numbers {
    Moments<kDecoupled, T> moments;
    T by_gradient, by_moment, correction;
    ONWARD_HOST_DEVICE Numbers(const double* settings, double step)
        : moments(settings),
          correction(static_cast<T>(1 - std::pow(settings[NAdamSettings::kBeta2], step))) {
      const double momentum = MomentumAt(settings, step);
      const double following = MomentumAt(settings, step + 1),
                   product = settings[NAdamSettings::kCount] * momentum;
      by_gradient = static_cast<T>(settings[NAdamSettings::kLr] * (1 - momentum) / (1 - product));
      by_moment =
          static_cast<T>(settings[NAdamSettings::kLr] * following / (1 - product * following));
    }
    ONWARD_HOST_DEVICE T Next(T p, T g, T* state) const {
      if constexpr (!kDecoupled) g = g + moments.decay * p;
      p = moments.Follow(p, g, state);
      const T denominator = std::sqrt(state[1] / correction) + moments.epsilon;
      return p - by_gradient * (g / denominator) - by_moment * (state[0] / denominator);
    }
  };
};

template <typename... Rules>
struct StepRuleList {
  static constexpr int kCount = sizeof...(Rules);
};

// In the order of StepRule.
using StepRules =
    StepRuleList<SgdRule<false, false>, SgdRule<true, false>, SgdRule<true, true>,
                 AdamRule<false, false>, AdamRule<false, true>, AdamRule<true, false>,
                 AdamRule<true, true>, AdagradRule, LionRule, RMSpropRule<false, false>,
                 RMSpropRule<true, false>, RMSpropRule<true, true>, AdadeltaRule, RAdamRule<false>,
                 RAdamRule<true>, NAdamRule<false>, NAdamRule<true>>;
static_assert(StepRules::kCount == static_cast<int>(StepRule::kCount));

}  // namespace onward::kernels::ONWARD_STEP_RULES
