// One direction of an LSTM, GRU or RNN in standard ops.
#pragma once

#include <vector>

#include "kernels/bind/recurrent.h"
#include "onward/expr.h"

namespace onward::gradient {

enum RecurrentInput { kX, kW, kR, kB, kLens, kInitialH, kInitialC, kPeepholes };

// The inputs of one direction; all expressions of one graph.
class RecurrentDirection {
 public:
  RecurrentDirection(const kernels::RecurrentAttributes& attributes,
                     const std::vector<Expr>& inputs, int direction);

  bool Has(RecurrentInput i) const { return i < inputs_.size() && inputs_[i].valid(); }
  bool is_lstm() const { return a_.op == kernels::RecurrentOp::kLstm; }
  bool reversed() const { return a_.reversed(direction_); }
  // True if it is an LSTM as onward.LstmGradient has it: default activations and nothing else.
  bool is_plain_lstm() const;
  // Returns whether the candidate needs a product of its own, of the reset state.
  bool multiplies_twice() const {
    return a_.op == kernels::RecurrentOp::kGru && !a_.linear_before_reset;
  }
  // The direction's part of a value that has an axis of directions.
  Expr Own(const Expr& value, int64_t axis) const;
  const Expr& x() const { return x_; }                  // [steps, batch, input]
  const Expr& w() const { return w_; }                  // [gates * hidden, input]
  const Expr& r() const { return r_; }                  // [hidden, gates * hidden]: transposed
  const Expr& r_rows() const { return r_rows_; }        // [gates * hidden, hidden]
  const Expr& peepholes() const { return peepholes_; }  // [3 * hidden] or omitted
  Expr Initial(RecurrentInput i) const;                 // [batch, hidden]

  // X W^T and the biases that are added before the recurrent product.
  Expr Projected() const;
  // The addend of the recurrent product: zeros but for the candidate's bias; may be omitted.
  const Expr& late_bias() const { return late_bias_; }

  // The next states, h first, from x (projected), product (of h with R^T, the late bias added) and
  // the states; elementwise. Not for those that multiply twice.
  std::vector<Expr> Cell(const Expr& x, const Expr& product, const std::vector<Expr>& states,
                         const Expr& peepholes) const;
  // The next state where the candidate multiplies twice.
  Expr GruStep(const Expr& x, const Expr& h) const;

  // Returns whether each sequence continues at time `time`: bool[batch, 1].
  Expr GoesOn(const Expr& time) const;
  // The numbers of the steps: int64[steps].
  Expr Times() const;

 private:
  Expr Activate(int function, const Expr& x) const;

  const kernels::RecurrentAttributes& a_;
  const std::vector<Expr>& inputs_;
  const int direction_;
  Expr x_, w_, r_, r_rows_, input_bias_, late_bias_, peepholes_;
};

// Equal parts along an axis.
std::vector<Expr> Parts(const Expr& x, int64_t axis, int count);

}  // namespace onward::gradient
