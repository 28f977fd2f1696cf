// Attention of tokens without their padding, and what takes the padding away and brings it back.
#include <utility>

#include "graph/microsoft/attention.h"

namespace onward::microsoft {
namespace {

// Where the tokens lie among all positions, int64[tokens].
Expr Offsets(const Expr& tokens, const Expr& token_offset) {
  const Expr flat = Reshape(Cast(token_offset, DType::kInt64), {-1});
  const Expr count = DimOf(tokens, 0);
  return Op("Slice", {flat, count - count, count});
}

}  // namespace

Expr Padded(const Expr& tokens, const Expr& token_offset) {
  const Expr size = DimOf(tokens, 1);
  const Expr all = Reshape(Size(token_offset), {1});
  const Expr zeros = Expand(ScalarLike(tokens, 0), Concat({all, size}, 0));
  const Expr rows = Op("ScatterND", {zeros, Unsqueeze(Offsets(tokens, token_offset), {1}), tokens});
  return Reshape(rows, Concat({Shape(token_offset), size}, 0), /*allow_zero=*/true);
}

namespace {

// `x` [batch, length, size] without padding.
Expr Unpadded(const Expr& x, const Expr& tokens, const Expr& token_offset) {
  const Expr all = Reshape(Size(token_offset), {1});
  const Expr rows = Reshape(x, Concat({all, DimOf(x, 2)}, 0), /*allow_zero=*/true);
  return Gather(rows, Offsets(tokens, token_offset));
}

// Attention of Q, K and V [tokens, heads * size]; the inputs from `first` on are token_offset,
// cumulative_sequence_length and attention_bias.
std::vector<Expr> AttentionOfTokens(const FormulaCall& call, const std::vector<Expr>& qkv,
                                    size_t first) {
  const Expr offsets = call.input(first);
  const Expr sums = Cast(call.input(first + 1), DType::kInt64);
  AttentionCall attention = {Padded(qkv[0], offsets), Padded(qkv[1], offsets),
                             Padded(qkv[2], offsets)};
  attention.q_heads = attention.kv_heads = call.Int("num_heads");
  if (attention.q_heads < 1) {
    call.Fail("`num_heads` must be at least 1");
    return {};
  }
  attention.scale = ScaleOf(call);
  attention.mask = call.input(first + 2);
  attention.nonpad = Slice(sums, {1}, {0x7fffffff}, {0}) - Slice(sums, {0}, {-1}, {0});
  return {Unpadded(StandardAttention(attention).y, qkv[0], offsets)};
}

std::vector<Expr> PackedAttention(const FormulaCall& call) {
  const Expr qkv = MatMul(call.input(0), call.input(1)) + call.input(2);
  const std::vector<int64_t> sizes = call.attributes().Ints("qkv_hidden_sizes");
  if (!sizes.empty() && sizes.size() != 3) {
    call.Fail("`qkv_hidden_sizes` needs three sizes");
    return {};
  }
  std::vector<Expr> parts;
  if (sizes.empty()) {
    parts = Ops("Split", {qkv}, 3, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{3}}});
  } else {
    parts = Split(qkv, sizes, -1);
  }
  return AttentionOfTokens(call, parts, 3);
}

// The query is packed with the others, [tokens, heads, 3, size], or has inputs of its own.
std::vector<Expr> PackedMultiHeadAttention(const FormulaCall& call) {
  std::vector<Expr> parts = {call.input(0), call.input(1), call.input(2)};
  int64_t hidden = 0;
  if (call.Rank(0) == 4) {
    hidden = call.Dim(0, 1) * call.Dim(0, 3);
    parts = Split(call.input(0), {1, 1, 1}, 2);
    for (Expr& part : parts) part = Reshape(Squeeze(part, {2}), {0, hidden});
  } else if (!call.has_input(1) || !call.has_input(2)) {
    call.Fail("the key or the value is missing, and the query is not packed with them");
    return {};
  } else {
    hidden = call.Dim(0, 1);
  }
  if (call.has_input(3)) {
    const int64_t bounds[] = {0, hidden, 2 * hidden, 0x7fffffff};
    for (size_t i = 0; i < 3; ++i) {
      parts[i] = parts[i] + Slice(call.input(3), {bounds[i]}, {bounds[i + 1]}, {0});
    }
  }
  return AttentionOfTokens(call, parts, 4);
}

std::vector<Expr> RestorePadding(const FormulaCall& call) {
  return {Padded(call.input(0), call.input(1))};
}

// Padding is on the right.
std::vector<Expr> RemovePadding(const FormulaCall& call) {
  const Expr x = call.input(0), counts = Reshape(call.input(1), {-1});
  const Expr positions = Cast(PositionsUpTo(DimOf(x, 1)), DType::kInt32);
  const Expr valid = Reshape(Less(positions, Unsqueeze(counts, {1})), {-1});
  const auto where = [](const Expr& flags) { return Squeeze(Op("NonZero", {flags}), {0}); };
  const Expr tokens = where(valid);
  const Expr offsets = Reshape(Concat({tokens, where(Not(valid))}, 0), Shape(x, 0, 2));
  const Expr zero = call.sink().Scalar(0, DType::kInt64);
  const Expr sums =
      Op("CumSum", {Concat({Unsqueeze(ScalarLike(counts, 0), {0}), counts}, 0), zero});
  const Expr rows = Reshape(x, Concat({call.sink().Ints({-1}), DimOf(x, 2)}, 0));
  return {Gather(rows, tokens), Cast(offsets, DType::kInt32), sums, ReduceMax(counts)};
}

}  // namespace

std::vector<FormulaOp> PackedAttentionOps() {
  return {
      {"PackedAttention <num_heads: int, qkv_hidden_sizes: ints?, scale: float?>"
       " (input: T, weights: T, bias: T, token_offset: M, cumulative_sequence_length: M,"
       " attention_bias: T?) -> (output: T) where T = float|float16, M = int32",
       PackedAttention},
      {"PackedMultiHeadAttention <num_heads: int, scale: float?, mask_filter_value: float?>"
       " (query: T, key: T?, value: T?, bias: T?, token_offset: M, cumulative_sequence_length: M,"
       " attention_bias: T?) -> (output: T) where T = float|float16, M = int32",
       PackedMultiHeadAttention},
      {"RemovePadding (input: T, sequence_token_count: M)"
       " -> (output: T, token_offset: M, cumulated_seq_len: M, max_seq_len: M)"
       " where T = float|float16, M = int32",
       RemovePadding},
      {"RestorePadding (input: T, token_offset: M) -> (output: T)"
       " where T = float|float16, M = int32",
       RestorePadding},
  };
}

}  // namespace onward::microsoft
