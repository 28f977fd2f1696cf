// The way back through one direction of an LSTM, GRU or RNN.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "training/gradient/recurrent_cell.h"

namespace onward::gradient {

// The gradients of the direction's inputs, in the order of RecurrentInput; those of X and Y in
// [steps, batch, n]. `y`: the states after each step. `upstream`: the gradients of y and of the
// last states, each may be omitted. The direction must not multiply twice.
//
// The gates before their activations, [steps, batch, gates * hidden], are `gates` or, where that is
// omitted, computed again from the states, for all steps in one product; a Scan then goes from the
// last step to the first with the gradients of the states. It gives the gradients of the gates,
// from which those of X and of the weights are products over all steps. onward.LstmGradient is in
// the place of the Scan where it is allowed and can be.
absl::StatusOr<std::vector<Expr>> DirectionGradients(const RecurrentDirection& direction,
                                                     const Expr& y,
                                                     const std::vector<Expr>& upstream,
                                                     const Expr& gates, bool allow_onward_ops);

}  // namespace onward::gradient
