// The elementwise part of recurrent cells, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/simd/cpu_features.h"

namespace onward::cpu {

// `rows` sequences of one block of `units` hidden units; `units` is a multiple of the vector's
// lanes. Sums hold the gates side by side: [row][gate][units].
struct GateBlock {
  int rows = 0;
  int units = 0;
  const float* sums = nullptr;
  int64_t sums_row = 0;
  const float* x = nullptr;  // GRU, linear before reset: the candidate's part from X
  int64_t x_row = 0;
  // States of this block's units, `h_row` apart.
  const float* h = nullptr;
  float* h_next = nullptr;
  float* c = nullptr;
  float* update = nullptr;
  int64_t h_row = 0;
};

// With f = sigmoid and g = h = tanh, the standard's defaults.
struct GateKernels {
  void (*rnn)(const GateBlock& block);   // h_next = tanh(sums)
  void (*lstm)(const GateBlock& block);  // sums: i o f c; updates c, writes h_next
  // sums: z r h; h_next = (1 - z) tanh(x + r h) + z h
  void (*gru_linear)(const GateBlock& block);
  void (*gru_reset)(const GateBlock& block);      // sums: z r; update = z, h_next = r h
  void (*gru_candidate)(const GateBlock& block);  // sums: h; h_next = (1 - z) tanh(sums) + z h
};

namespace baseline {
const GateKernels& Gates();
}
namespace avx2 {
const GateKernels& Gates();
}
namespace avx512 {
const GateKernels& Gates();
}

// The kernels of `set`, which must be one that Supports().
const GateKernels& GatesOf(InstructionSet set);

}  // namespace onward::cpu
