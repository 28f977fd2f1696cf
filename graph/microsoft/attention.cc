// Attention with the projection of its inputs, and what all attention ops share.
#include "graph/microsoft/attention.h"

#include <cmath>
#include <utility>

namespace onward::microsoft {

AttentionResult StandardAttention(const AttentionCall& call) {
  Attributes attributes = {{"is_causal", int64_t{call.causal}}};
  if (call.q_heads > 0) attributes.Set("q_num_heads", call.q_heads);
  if (call.kv_heads > 0) attributes.Set("kv_num_heads", call.kv_heads);
  if (call.scale) attributes.Set("scale", *call.scale);
  if (call.softcap != 0) attributes.Set("softcap", call.softcap);
  if (call.left_window >= 0) attributes.Set("left_window_size", call.left_window);
  if (call.qk_mode) attributes.Set("qk_matmul_output_mode", *call.qk_mode);
  const bool presents = call.wants_present || call.past_key.valid();
  const int outputs = call.qk_mode ? 4 : presents ? 3 : 1;
  std::vector<Expr> results = Ops(
      "Attention", {call.q, call.k, call.v, call.mask, call.past_key, call.past_value, call.nonpad},
      outputs, std::move(attributes));
  results.resize(4);
  return {results[0], results[1], results[2], results[3]};
}

std::optional<float> ScaleOf(const FormulaCall& call) {
  const float scale = call.Float("scale");
  return scale == 0 ? std::nullopt : std::optional<float>(scale);
}

Expr SplitHeads(const Expr& x, int64_t heads) {
  return Transpose(Reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}

Expr MergeHeads(const Expr& x) { return Reshape(Transpose(x, {0, 2, 1, 3}), {0, 0, -1}); }

Expr DimOf(const Expr& x, int64_t axis) { return Shape(x, axis, axis + 1); }

Expr PositionsUpTo(const Expr& length) {
  return Op("Range", {ScalarLike(length, 0), OneElement(length), ScalarLike(length, 1)});
}

namespace {

// Which keys count by their positions, [batch, total].
Expr ValidByPosition(const Expr& mask, const Expr& batch, const Expr& total) {
  const Expr wide = Cast(mask, DType::kInt64);
  const Expr zeros = Expand(ScalarLike(wide, 0), batch);
  // The second part of [2 batch]; of nothing but counts 0.
  Expr starts = Op("Slice", {Concat({wide, zeros}, 0), batch, batch * 2});
  starts = Where(Equal(DimOf(wide, 0), batch * 3 + 2), ScalarLike(wide, 0), starts);
  const Expr ends = Op("Slice", {wide, batch - batch, batch});
  const Expr positions = PositionsUpTo(total);
  return And(Less(positions, Unsqueeze(ends, {1})),
             GreaterOrEqual(positions, Unsqueeze(starts, {1})));
}

}  // namespace

Expr PaddingBias(const FormulaCall& call, size_t mask, const Expr& past, const Expr& length) {
  Expr m = call.input(mask);
  if (!m.valid()) return {};
  const Expr zero = ScalarLike(m, 0), total = past + length;
  const int64_t rank = call.Rank(mask);
  Expr valid;
  if (rank == 1) {
    valid = Unsqueeze(ValidByPosition(m, DimOf(call.input(0), 0), total), {1, 2});
  } else if (rank == 2) {
    valid = Unsqueeze(Greater(m, zero), {1, 2});
  } else if (rank == 3) {
    valid = Unsqueeze(Greater(m, zero), {1});
  } else if (rank == 4) {
    const Expr rows = Op("Slice", {m, past, total, call.sink().Ints({2})});
    valid = Greater(Op("Slice", {rows, total - total, total, call.sink().Ints({3})}), zero);
  } else {
    call.Fail("a mask has rank 1 to 4");
    return {};
  }
  const double filter = call.Has("mask_filter_value") ? call.Float("mask_filter_value") : -10000;
  const Expr like = call.input(0);
  return Where(valid, ScalarLike(like, 0), ScalarLike(like, filter));
}

Expr SumOfGiven(const Expr& a, const Expr& b) {
  if (!a.valid() || !b.valid()) return a.valid() ? a : b;
  return a + b;
}

Expr WrittenInto(const Expr& cache, const Expr& fresh, const Expr& start) {
  return Op("TensorScatter", {cache, fresh, start}, {{"axis", int64_t{-2}}});
}

Expr FirstRows(const Expr& cache, const Expr& count) {
  return Op("Slice", {cache, count - count, count, cache.sink()->Ints({2})});
}

namespace {

// Angles of positions past, past + 1, ... by the base 10000, turned in halves.
Expr RotatedByPosition(const FormulaCall& call, const Expr& x, const Expr& past) {
  const int64_t heads = call.Int("num_heads"), head_size = x.type().shape->back().value() / heads;
  const int64_t given = call.Int("rotary_embedding_dim"), size = given > 0 ? given : head_size;
  std::vector<float> frequencies;
  for (int64_t i = 0; i < size / 2; ++i) {
    frequencies.push_back(
        std::pow(10000.0f, -2.0f * static_cast<float>(i) / static_cast<float>(size)));
  }
  const Expr turns = call.sink().Constant(
      Tensor::Of<float>({size / 2}, absl::MakeConstSpan(frequencies)), "frequencies");
  const Expr positions = Cast(PositionsUpTo(DimOf(x, 1)) + past, DType::kFloat32);
  const Expr angles = Expand(Unsqueeze(positions, {1}) * turns,
                             Concat({DimOf(x, 0), DimOf(x, 1), call.sink().Ints({size / 2})}, 0));
  return Op("RotaryEmbedding", {x, Cast(Cos(angles), x.dtype()), Cast(Sin(angles), x.dtype())},
            {{"num_heads", heads}, {"rotary_embedding_dim", size == head_size ? 0 : size}});
}

// Q, K and V of one product, by the attribute qkv_hidden_sizes or in equal parts.
std::vector<Expr> Projected(const FormulaCall& call) {
  Expr qkv = MatMul(call.input(0), call.input(1));
  if (call.has_input(2)) qkv = qkv + call.input(2);
  const std::vector<int64_t> sizes = call.attributes().Ints("qkv_hidden_sizes");
  if (sizes.size() == 3) return Split(qkv, sizes, -1);
  if (!sizes.empty()) call.Fail("`qkv_hidden_sizes` needs three sizes");
  return Ops("Split", {qkv}, 3, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{3}}});
}

std::vector<Expr> Attention(const FormulaCall& call) {
  // The past is then the beginning of a buffer that also takes what is new.
  const bool shared = call.Int("past_present_share_buffer") != 0;
  if (shared && (!call.has_input(4) || !call.has_input(6))) {
    call.Fail("`past_present_share_buffer` needs `past` and `past_sequence_length`");
    return {};
  }
  const std::vector<Expr> qkv = Projected(call);
  AttentionCall attention = {qkv[0], qkv[1], qkv[2]};
  attention.q_heads = attention.kv_heads = call.Int("num_heads");
  if (attention.q_heads < 1) {
    call.Fail("`num_heads` must be at least 1");
    return {};
  }
  attention.scale = ScaleOf(call);
  attention.causal = call.Int("unidirectional") != 0;
  attention.wants_present = call.wants_output(1);
  Expr past_length = call.sink().Ints({0});
  std::vector<Expr> buffers;
  if (call.has_input(4)) {
    const std::vector<Expr> past = Split(call.input(4), {1, 1}, 0);
    attention.past_key = Squeeze(past[0], {0});
    attention.past_value = Squeeze(past[1], {0});
    past_length = DimOf(call.input(4), 3);
    if (shared) {
      past_length = Reshape(Cast(call.input(6), DType::kInt64), {1});
      buffers = {attention.past_key, attention.past_value};
      attention.past_key = FirstRows(attention.past_key, past_length);
      attention.past_value = FirstRows(attention.past_value, past_length);
    }
  }
  if (call.Int("do_rotary") != 0) {
    call.Dim(1, 1);  // fails where the sizes are not known
    const bool known = qkv[0].type().shape && qkv[0].type().shape->back().known();
    if (!call.sink().status().ok() || !known || attention.q_heads < 1) return {};
    attention.q = RotatedByPosition(call, attention.q, past_length);
    attention.k = RotatedByPosition(call, attention.k, past_length);
  }
  attention.mask =
      SumOfGiven(PaddingBias(call, 3, past_length, DimOf(call.input(0), 1)), call.input(5));
  const AttentionResult result = StandardAttention(attention);
  if (!call.wants_output(1)) return {result.y};
  Expr key = result.present_key, value = result.present_value;
  if (shared) {
    const Expr start = Expand(past_length, DimOf(call.input(0), 0));
    key = WrittenInto(buffers[0], SplitHeads(attention.k, attention.kv_heads), start);
    value = WrittenInto(buffers[1], SplitHeads(attention.v, attention.kv_heads), start);
  }
  return {result.y, Concat({Unsqueeze(key, {0}), Unsqueeze(value, {0})}, 0)};
}

}  // namespace

std::vector<FormulaOp> AttentionOps() {
  return {
      {"Attention <num_heads: int, unidirectional: int = 0, qkv_hidden_sizes: ints?,"
       " scale: float?, mask_filter_value: float?, do_rotary: int?, rotary_embedding_dim: int?,"
       " past_present_share_buffer: int?>"
       " (input: T, weights: T, bias: T?, mask_index: M?, past: T?, attention_bias: T?,"
       " past_sequence_length: M?) -> (output: T, present: T?)"
       " where T = float|float16|bfloat16, M = int32",
       Attention},
  };
}

}  // namespace onward::microsoft
