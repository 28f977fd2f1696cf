// The steps of optimizers (graph/optimizers) that are one pass over a parameter and its state, in
// place. Arithmetic is that of the formulas, element by element.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/shape.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

// A rule: what a step's numbers become in T, once, and how one element changes. `state` holds the
// element's state and receives the next one.
template <bool kMomentum, bool kNesterov>
struct SgdRule {
  static constexpr int kSettings = 4, kStates = kMomentum ? 1 : 0;
  template <typename T>
  struct Numbers {
    T rate, momentum, damped, decay;
    bool first;
    Numbers(const double* settings, double step)
        : rate(static_cast<T>(settings[0])),
          momentum(static_cast<T>(settings[1])),
          damped(static_cast<T>(1 - settings[2])),
          decay(static_cast<T>(settings[3])),
          first(step == 1) {}
    T Next(T p, T g, T* state) const {
      g = g + decay * p;
      if constexpr (kMomentum) {
        state[0] = first ? g : state[0] * momentum + damped * g;
        g = kNesterov ? g + momentum * state[0] : state[0];
      }
      return p - rate * g;
    }
  };
};

template <bool kDecoupled, bool kLargest>
struct AdamRule {
  static constexpr int kSettings = 5, kStates = kLargest ? 3 : 2;
  template <typename T>
  struct Numbers {
    T rate, first_weight, beta2, second_weight, root, epsilon, decay, shrink;
    Numbers(const double* settings, double step)
        : rate(static_cast<T>(settings[0] / (1 - std::pow(settings[1], step)))),
          first_weight(static_cast<T>(1 - settings[1])),
          beta2(static_cast<T>(settings[2])),
          second_weight(static_cast<T>(1 - settings[2])),
          root(static_cast<T>(std::sqrt(1 - std::pow(settings[2], step)))),
          epsilon(static_cast<T>(settings[3])),
          decay(static_cast<T>(settings[4])),
          shrink(static_cast<T>(1 - settings[0] * settings[4])) {}
    T Next(T p, T g, T* state) const {
      if constexpr (kDecoupled) {
        p = p * shrink;
      } else {
        g = g + decay * p;
      }
      state[0] = state[0] + first_weight * (g - state[0]);
      state[1] = state[1] * beta2 + second_weight * g * g;
      T largest = state[1];
      if constexpr (kLargest) {
        // NaN stays.
        largest = state[2] = state[2] > state[1] || state[2] != state[2] ? state[2] : state[1];
      }
      return p - rate * (state[0] / (std::sqrt(largest) / root + epsilon));
    }
  };
};

struct AdagradRule {
  static constexpr int kSettings = 4, kStates = 1;
  template <typename T>
  struct Numbers {
    T rate, epsilon, decay;
    Numbers(const double* settings, double step)
        : rate(static_cast<T>(settings[0] / (1 + (step - 1) * settings[1]))),
          epsilon(static_cast<T>(settings[2])),
          decay(static_cast<T>(settings[3])) {}
    T Next(T p, T g, T* state) const {
      g = g + decay * p;
      state[0] = state[0] + g * g;
      return p - rate * (g / (std::sqrt(state[0]) + epsilon));
    }
  };
};

struct LionRule {
  static constexpr int kSettings = 4, kStates = 1;
  template <typename T>
  struct Numbers {
    T rate, first_weight, second_weight, shrink;
    Numbers(const double* settings, double)
        : rate(static_cast<T>(settings[0])),
          first_weight(static_cast<T>(1 - settings[1])),
          second_weight(static_cast<T>(1 - settings[2])),
          shrink(static_cast<T>(1 - settings[0] * settings[3])) {}
    T Next(T p, T g, T* state) const {
      const T mixed = state[0] + first_weight * (g - state[0]);
      const T sign = mixed > 0 ? T(1) : mixed < 0 ? T(-1) : mixed;
      state[0] = state[0] + second_weight * (g - state[0]);
      return p * shrink - rate * sign;
    }
  };
};

template <typename Rule, typename T>
class Step : public Kernel {
 public:
  explicit Step(bool maximize) : maximize_(maximize) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    for (int i = 0; i < 1 + Rule::kStates; ++i) {
      const int input = i == 0 ? 0 : 3 + i;
      for (const int same : {input, 1}) {
        if (context.input_dims(same) == dims) continue;
        return absl::InvalidArgumentError(absl::StrCat("input ", same, " has shape ",
                                                       DimsString(context.input_dims(same)),
                                                       ", the parameter has ", DimsString(dims)));
      }
      if (!context.has_output(i)) continue;
      context.SetOutput(i, dims);
      context.AllowInPlace(i, input);
    }
    if (NumElements(context.input_dims(2)) != Rule::kSettings ||
        NumElements(context.input_dims(3)) != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "settings have shape ", DimsString(context.input_dims(2)), " and the step ",
          DimsString(context.input_dims(3)), ", must be [", Rule::kSettings, "] and []"));
    }
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const typename Rule::template Numbers<T> numbers(context.in<double>(2),
                                                     static_cast<double>(*context.in<int64_t>(3)));
    const T *p = context.in<T>(0), *g = context.in<T>(1);
    const T* states[Rule::kStates + 1];
    T* next[Rule::kStates + 1];
    for (int i = 0; i < Rule::kStates; ++i) {
      states[i] = context.in<T>(4 + i);
      next[i] = context.out<T>(1 + i);
    }
    T* out = context.out<T>(0);
    const T sign = maximize_ ? T(-1) : T(1);
    context.ParallelFor(context.input(0).num_elements(), kMathGrain,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            T state[Rule::kStates + 1];
                            for (int k = 0; k < Rule::kStates; ++k) state[k] = states[k][i];
                            out[i] = numbers.Next(p[i], sign * g[i], state);
                            for (int k = 0; k < Rule::kStates; ++k) next[k][i] = state[k];
                          }
                        });
    return absl::OkStatus();
  }

 private:
  bool maximize_;
};

template <typename Rule>
Made MakeStep(const NodeSpec& spec) {
  // All states are read and written, or the formula does it.
  bool whole = spec.num_inputs() == 4 + Rule::kStates && spec.num_outputs() == 1 + Rule::kStates;
  for (int i = 0; whole && i < spec.num_outputs(); ++i) whole = spec.has_output(i);
  if (!whole) return absl::UnimplementedError("some of the state is left out");
  const bool maximize = spec.attributes().Int("maximize", 0) != 0;
  Made made = NoLoopFor(spec.input_dtype(0));
  DispatchDType(TypeList<float, double>(), spec.input_dtype(0), [&](auto tag) {
    made = std::make_unique<Step<Rule, typename decltype(tag)::type>>(maximize);
  });
  return made;
}

Made MakeSgd(const NodeSpec& spec) {
  if (spec.num_inputs() < 5) return MakeStep<SgdRule<false, false>>(spec);
  return spec.attributes().Int("nesterov", 0) != 0 ? MakeStep<SgdRule<true, true>>(spec)
                                                   : MakeStep<SgdRule<true, false>>(spec);
}

Made MakeAdam(const NodeSpec& spec) {
  const bool largest = spec.num_inputs() > 6;
  if (spec.attributes().Int("decoupled", 0) != 0)
    return largest ? MakeStep<AdamRule<true, true>>(spec) : MakeStep<AdamRule<true, false>>(spec);
  return largest ? MakeStep<AdamRule<false, true>>(spec) : MakeStep<AdamRule<false, false>>(spec);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "AdagradStep", "adagrad_step", MakeStep<AdagradRule>},
    {"onward", "AdamStep", "adam_step", MakeAdam},
    {"onward", "LionStep", "lion_step", MakeStep<LionRule>},
    {"onward", "SgdStep", "sgd_step", MakeSgd},
};

}  // namespace

KernelList OptimizerSteps() { return kKernels; }

}  // namespace onward::cpu
