// The steps of optimizers that are one pass over a parameter and its state (graph/optimizers), per
// instruction set. Arithmetic is that of the formulas, element by element.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"
#include "kernels/optimizer_steps.h"

namespace onward::kernels::cpu {

// Arrays of one dtype. Outputs may be their inputs.
struct StepElements {
  const void *p = nullptr, *g = nullptr, *states[3] = {};
  void *out = nullptr, *next[3] = {};
  bool maximize = false;
};

// Elements [begin, end); `settings` in the order of the op's formula, then its scalar state.
using StepLoop = void (*)(const double* settings, double step, const StepElements& elements,
                          int64_t begin, int64_t end);

struct StepLoops {
  int settings, states;
  StepLoop floats, doubles;
  // Returns the next scalar state (double, the last one); null: there is none.
  double (*next_scalar)(const double* settings, double step);
};

ONWARD_PER_TARGET(kVectorLoops, const StepLoops&, OptimizerStep, (StepRule rule))

}  // namespace onward::kernels::cpu
