// The recurrent ops of hybrid language models, which the standard has taken up since.
#include <utility>

#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {
namespace {

// The standard's ops keep one state: of the last position.
bool OneState(const FormulaCall& call) {
  if (call.Int("state_window") == 0) return true;
  call.sink().Fail(
      absl::UnimplementedError("states of several positions (state_window) are not supported"));
  return false;
}

Attributes Without(Attributes attributes, const std::vector<std::string>& names) {
  for (const std::string& name : names) attributes.Erase(name);
  return attributes;
}

std::vector<Expr> AllInputs(const FormulaCall& call) {
  std::vector<Expr> inputs;
  for (size_t i = 0; i < call.num_inputs(); ++i) inputs.push_back(call.input(i));
  return inputs;
}

std::vector<Expr> LinearAttention(const FormulaCall& call) {
  if (!OneState(call)) return {};
  const int64_t heads = call.Int("q_num_heads"), kv_heads = call.Int("kv_num_heads");
  if (heads < kv_heads) {
    call.sink().Fail(absl::UnimplementedError(
        "more heads of keys and values than of queries are not supported"));
    return {};
  }
  return Ops("LinearAttention", AllInputs(call), 2, Without(call.attributes(), {"state_window"}));
}

// Along the last axis of [batch, channels, length], or with channels last.
std::vector<Expr> CausalConvWithState(const FormulaCall& call) {
  if (!OneState(call)) return {};
  if (call.Int("ndim") != 1 || call.Int("dilation") != 1) {
    call.sink().Fail(absl::UnimplementedError(
        "a causal convolution with several axes or a dilation is not supported"));
    return {};
  }
  const bool channels_last = call.Int("channels_last") != 0;
  if (channels_last && call.Rank(0) != 3) {
    call.sink().Fail(absl::UnimplementedError("channels_last needs an input of rank 3"));
    return {};
  }
  std::vector<Expr> inputs = AllInputs(call);
  const auto turn = [&](const Expr& x) {
    return channels_last && x.valid() ? Transpose(x, {0, 2, 1}) : x;
  };
  inputs[0] = turn(inputs[0]);
  if (call.has_input(3)) inputs[3] = turn(inputs[3]);
  std::vector<Expr> outputs =
      Ops("CausalConvWithState", inputs, 2, {{"activation", call.String("activation")}});
  for (Expr& output : outputs) output = turn(output);
  return outputs;
}

}  // namespace

std::vector<FormulaOp> LinearAttentionOps() {
  return {
      {"LinearAttention <q_num_heads: int, kv_num_heads: int, update_rule: string = "
       "\"gated_delta\", scale: float = 0, chunk_size: int = 64, state_window: int = 0>"
       " (query: T, key: T, value: T, past_state: S?, decay: T?, beta: T?)"
       " -> (output: T, present_state: S)"
       " where T = float|float16|bfloat16, S = float|float16|bfloat16",
       LinearAttention},
      {"CausalConvWithState <activation: string = \"none\", ndim: int = 1, dilation: int = 1,"
       " channels_last: int = 0, state_window: int = 0>"
       " (input: T, weight: T, bias: T?, past_state: T?) -> (output: T, present_state: T)"
       " where T = float|float16|bfloat16",
       CausalConvWithState},
  };
}

}  // namespace onward::microsoft
