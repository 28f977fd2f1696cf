// Included once per instruction set.
#pragma once

#include <array>

#include "kernels/cpu/simd/independent_inl.h"
#include "kernels/cpu/simd/optimizer_steps.h"
#include "kernels/cpu/simd/vec_inl.h"

#define ONWARD_STEP_RULES cpu::ONWARD_TARGET
#include "kernels/optimizer_steps_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

template <typename Rule, typename T>
void StepAll(const double* settings, double step, const StepElements& e, int64_t begin,
             int64_t end) {
  constexpr int kStates = Rule::kStates;
  const typename Rule::template Numbers<T> numbers(settings, step);
  const T *p = static_cast<const T*>(e.p), *g = static_cast<const T*>(e.g);
  T* out = static_cast<T*>(e.out);
  const T* states[kStates + 1] = {};
  T* next[kStates + 1] = {};
  for (int k = 0; k < kStates; ++k)
    states[k] = static_cast<const T*>(e.states[k]), next[k] = static_cast<T*>(e.next[k]);
  const T sign = e.maximize ? T(-1) : T(1);
  ONWARD_INDEPENDENT  // an output is an input's memory or no input's
      for (int64_t i = begin; i < end; ++i) {
    T state[kStates + 1];
    for (int k = 0; k < kStates; ++k) state[k] = states[k][i];
    out[i] = numbers.Next(p[i], sign * g[i], state);
    for (int k = 0; k < kStates; ++k) next[k][i] = state[k];
  }
}

template <typename Rule>
constexpr StepLoops LoopsOf() {
  StepLoops loops = {Rule::kSettings, Rule::kStates, StepAll<Rule, float>, StepAll<Rule, double>,
                     nullptr};
  if constexpr (requires { Rule::NextScalar; }) loops.next_scalar = Rule::NextScalar;
  return loops;
}

template <typename... Rules>
constexpr std::array<StepLoops, sizeof...(Rules)> LoopsOfAll(StepRuleList<Rules...>) {
  return {LoopsOf<Rules>()...};
}

const StepLoops& OptimizerStep(StepRule rule) {
  static constexpr auto kLoops = LoopsOfAll(StepRules());
  return kLoops[static_cast<size_t>(rule)];
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
