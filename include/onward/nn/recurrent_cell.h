// One step of LSTM, GRU and RNN.
#pragma once

#include "onward/nn/module.h"

namespace onward::nn {

// The base of the cells: parameters "weight_ih", "weight_hh", "bias_ih", "bias_hh", whose rows are
// gates in PyTorch's order.
class RecurrentCell : public Module {
 public:
  Expr weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  RecurrentCell(Module& parent, std::string_view name, int64_t gates, int64_t in, int64_t hidden,
                bool bias);
  bool Made() const { return weight_hh.valid(); }
  // [batch, hidden]: the state, zeros where none is given.
  Expr StateOf(const Expr& x, const Expr& given) const;

  const int64_t hidden_;
};

class LSTMCell : public RecurrentCell {
 public:
  LSTMCell(Module& parent, std::string_view name, int64_t in, int64_t hidden, bool bias = true);
  struct State {
    Expr hidden, cell;
  };
  // `x`: [batch, in]; states that are not given are zero.
  State operator()(const Expr& x, const State& state = {});
};

class GRUCell : public RecurrentCell {
 public:
  GRUCell(Module& parent, std::string_view name, int64_t in, int64_t hidden, bool bias = true);
  Expr operator()(const Expr& x, const Expr& hidden = {});
};

class RNNCell : public RecurrentCell {
 public:
  RNNCell(Module& parent, std::string_view name, int64_t in, int64_t hidden, bool bias = true,
          bool relu = false);
  Expr operator()(const Expr& x, const Expr& hidden = {});

 private:
  const bool relu_;
};

}  // namespace onward::nn
