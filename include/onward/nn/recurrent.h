// LSTM, GRU and RNN of several layers.
#pragma once

#include <string>

#include "onward/nn/module.h"

namespace onward::nn {

struct RecurrentOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // between layers, when training
  bool bidirectional = false;
  std::string nonlinearity = "tanh";  // of RNN: "tanh" or "relu"
  int64_t proj_size = 0;  // of LSTM: hidden states are projected to this size; 0: they are not
};

// State is [num_layers * directions, batch, hidden], or of hidden states that are projected
// [..., proj_size].
struct RecurrentResult {
  Expr output;  // [length, batch, directions * hidden], or [batch, length, ...]
  Expr hidden;  // the last state
  Expr cell;    // LSTM's
};

class Recurrent : public Module {
 public:
  using Options = RecurrentOptions;
  enum class Kind : uint8_t { kLstm, kGru, kRnn };
  Recurrent(Module& parent, std::string_view name, Kind kind, int64_t in, int64_t hidden,
            const Options& options);
  // States that are not given are zero. `lengths`, int32[batch], end sequences before the padding,
  // where the output is zero.
  RecurrentResult operator()(const Expr& x, const Expr& hidden = {}, const Expr& cell = {},
                             const Expr& lengths = {});

 private:
  // The parameters of one direction of one layer, PyTorch's: rows are gates in its order.
  struct Weights {
    Expr weight_ih, weight_hh, bias_ih, bias_hh, weight_hr;
  };
  struct State {
    Expr hidden, cell;
  };

  std::vector<Expr> RunLayer(const Expr& x, size_t layer, const State& state, const Expr& lengths);
  std::vector<Expr> RunProjected(const Expr& x, size_t layer, const State& state,
                                 const Expr& lengths);
  // Gates in the order of the standard.
  Expr Reordered(const Expr& rows) const;

  const Kind kind_;
  const int64_t hidden_;
  const Options options_;
  std::vector<Weights> weights_;  // by layer, then by direction
};

struct LSTM : Recurrent {
  LSTM(Module& parent, std::string_view name, int64_t in, int64_t hidden,
       const Options& options = {})
      : Recurrent(parent, name, Kind::kLstm, in, hidden, options) {}
};
struct GRU : Recurrent {
  GRU(Module& parent, std::string_view name, int64_t in, int64_t hidden,
      const Options& options = {})
      : Recurrent(parent, name, Kind::kGru, in, hidden, options) {}
};
struct RNN : Recurrent {
  RNN(Module& parent, std::string_view name, int64_t in, int64_t hidden,
      const Options& options = {})
      : Recurrent(parent, name, Kind::kRnn, in, hidden, options) {}
};

}  // namespace onward::nn
