#include "onward/nn/recurrent.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "onward/nn/dropout.h"

namespace onward::nn {
namespace {

constexpr const char* kOps[] = {"LSTM", "GRU", "RNN"};

// The standard's k-th gate is PyTorch's gate kGates[kind][k]: i, o, f, c of i, f, g, o; z, r, h of
// r, z, n.
const std::vector<size_t> kGates[] = {{0, 3, 1, 2}, {1, 0, 2}, {0}};

}  // namespace

Recurrent::Recurrent(Module& parent, std::string_view name, Kind kind, int64_t in, int64_t hidden,
                     const Options& options)
    : Module(parent, name), kind_(kind), hidden_(hidden), options_(options) {
  const bool known = options.nonlinearity == "tanh" || options.nonlinearity == "relu";
  if (!Require(options.num_layers >= 1 && hidden >= 1,
               "needs at least one layer and a hidden size of at least 1") ||
      !Require(options.dropout >= 0 && options.dropout < 1, "the dropout must be in [0, 1)") ||
      !Require(known,
               absl::StrCat("the nonlinearity '", options.nonlinearity, "' is not tanh or relu")) ||
      !Require(options.proj_size >= 0 && options.proj_size < hidden &&
                   (options.proj_size == 0 || kind == Kind::kLstm),
               "only an LSTM has a proj_size, which must be below the hidden size"))
    return;
  const int64_t state = options.proj_size > 0 ? options.proj_size : hidden;
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const Init start = init::Uniform(-bound, bound);
  const int64_t rows = hidden * static_cast<int64_t>(kGates[static_cast<size_t>(kind)].size());
  const int64_t directions = options.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    for (int64_t direction = 0; direction < directions; ++direction) {
      const std::string suffix = absl::StrCat("_l", layer, direction == 1 ? "_reverse" : "");
      const int64_t width = layer == 0 ? in : directions * state;
      Weights& made = weights_.emplace_back();
      made.weight_ih = AddParameter("weight_ih" + suffix, {rows, width}, start);
      made.weight_hh = AddParameter("weight_hh" + suffix, {rows, state}, start);
      if (options.bias) {
        made.bias_ih = AddParameter("bias_ih" + suffix, {rows}, start);
        made.bias_hh = AddParameter("bias_hh" + suffix, {rows}, start);
      }
      if (options.proj_size > 0)
        made.weight_hr = AddParameter("weight_hr" + suffix, {state, hidden}, start);
    }
  }
}

Expr Recurrent::Reordered(const Expr& rows) const {
  const std::vector<size_t>& order = kGates[static_cast<size_t>(kind_)];
  if (order.size() == 1) return rows;
  const std::vector<Expr> gates = Split(rows, std::vector<int64_t>(order.size(), hidden_), 0);
  std::vector<Expr> turned;
  for (const size_t gate : order) turned.push_back(gates[gate]);
  return Concat(turned, 0);
}

std::vector<Expr> Recurrent::RunLayer(const Expr& x, size_t layer, const State& state,
                                      const Expr& lengths) {
  const size_t directions = options_.bidirectional ? 2 : 1;
  std::vector<Expr> w, r, b;
  for (size_t i = layer * directions; i < (layer + 1) * directions; ++i) {
    w.push_back(Unsqueeze(Reordered(weights_[i].weight_ih), {0}));
    r.push_back(Unsqueeze(Reordered(weights_[i].weight_hh), {0}));
    if (options_.bias) {
      b.push_back(Unsqueeze(
          Concat({Reordered(weights_[i].bias_ih), Reordered(weights_[i].bias_hh)}, 0), {0}));
    }
  }
  const auto joined = [](const std::vector<Expr>& parts) {
    return parts.size() == 1 ? parts[0] : Concat(parts, 0);
  };
  Attributes attributes = {{"hidden_size", hidden_}};
  attributes.Set("direction", std::string(directions == 2 ? "bidirectional" : "forward"));
  if (kind_ == Kind::kGru) attributes.Set("linear_before_reset", int64_t{1});
  if (kind_ == Kind::kRnn) {
    attributes.Set(
        "activations",
        std::vector<std::string>(directions, options_.nonlinearity == "relu" ? "Relu" : "Tanh"));
  }
  std::vector<Expr> inputs = {x,       joined(w),   joined(r), b.empty() ? Expr() : joined(b),
                              lengths, state.hidden};
  if (kind_ == Kind::kLstm) inputs.push_back(state.cell);
  while (inputs.back().sink() == nullptr) inputs.pop_back();
  return Ops(kOps[static_cast<size_t>(kind_)], inputs, kind_ == Kind::kLstm ? 3 : 2,
             std::move(attributes));
}

RecurrentResult Recurrent::operator()(const Expr& x, const Expr& hidden, const Expr& cell,
                                      const Expr& lengths) {
  const Scope scope(*this);
  const int64_t layers = options_.num_layers, directions = options_.bidirectional ? 2 : 1;
  if (!x.valid() || weights_.size() != static_cast<size_t>(layers * directions)) return {};
  const auto by_layer = [&](const Expr& state) {
    if (!state.valid() || layers == 1) return std::vector<Expr>(static_cast<size_t>(layers), state);
    return Split(state, std::vector<int64_t>(static_cast<size_t>(layers), directions), 0);
  };
  const std::vector<Expr> h0 = by_layer(hidden), c0 = by_layer(cell);
  Expr y = options_.batch_first ? Transpose(x, {1, 0, 2}) : x;
  std::vector<Expr> h, c;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const size_t at = static_cast<size_t>(layer);
    if (layer > 0) y = Dropout{options_.dropout}(y);
    const auto run = options_.proj_size > 0 ? &Recurrent::RunProjected : &Recurrent::RunLayer;
    const std::vector<Expr> outputs = (this->*run)(y, at, {h0[at], c0[at]}, lengths);
    // [length, directions, batch, hidden].
    y = directions == 1 ? Squeeze(outputs[0], {1})
                        : Reshape(Transpose(outputs[0], {0, 2, 1, 3}), {0, 0, -1});
    h.push_back(outputs[1]);
    if (kind_ == Kind::kLstm) c.push_back(outputs[2]);
  }
  const auto joined = [](const std::vector<Expr>& parts) {
    return parts.empty() ? Expr() : parts.size() == 1 ? parts[0] : Concat(parts, 0);
  };
  return {options_.batch_first ? Transpose(y, {1, 0, 2}) : y, joined(h), joined(c)};
}

}  // namespace onward::nn
