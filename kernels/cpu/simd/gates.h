// The elementwise part of recurrent cells, per instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

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

// `units` hidden units of one sequence at one step of an LSTM on the way back. The gates stand
// `gate` apart, before their activations; so do their gradients.
struct LstmGradientRow {
  int64_t units = 0;
  const float* gates = nullptr;
  int64_t gate = 0;
  const float* c = nullptr;   // before the step
  const float* dh = nullptr;  // after the step; `dy`, if not null, is added
  const float* dy = nullptr;
  float* dc = nullptr;  // after the step; becomes that before it
  float* dgates = nullptr;
};

// With f = sigmoid and g = h = tanh, the standard's defaults.
struct GateKernels {
  void (*rnn)(const GateBlock& block);       // h_next = tanh(sums)
  void (*rnn_relu)(const GateBlock& block);  // h_next = relu(sums)
  void (*lstm)(const GateBlock& block);      // sums: i o f c; updates c, writes h_next
  // sums: z r h; h_next = (1 - z) tanh(x + r h) + z h
  void (*gru_linear)(const GateBlock& block);
  void (*gru_reset)(const GateBlock& block);      // sums: z r; update = z, h_next = r h
  void (*gru_candidate)(const GateBlock& block);  // sums: h; h_next = (1 - z) tanh(sums) + z h
  // next = the cells after the step, of gates as in LstmGradientRow.
  void (*lstm_cells)(const float* gates, int64_t gate, const float* c, int64_t units, float* next);
  void (*lstm_gradient)(const LstmGradientRow& row);
};

ONWARD_PER_TARGET(kVectorLoops, const GateKernels&, Gates, ())

}  // namespace onward::kernels::cpu
