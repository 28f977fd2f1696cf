// MultiHeadAttention and DecoderMaskedMultiHeadAttention: of projected inputs, with their biases.
#include <utility>

#include "graph/microsoft/attention.h"

namespace onward::microsoft {
namespace {

// Parts of [batch, length, heads, parts, size], each [batch, length, heads * size].
std::vector<Expr> Unpacked(const Expr& packed, int64_t parts) {
  std::vector<Expr> result = Split(packed, std::vector<int64_t>(static_cast<size_t>(parts), 1), 3);
  for (Expr& part : result) part = Reshape(Squeeze(part, {3}), {0, 0, -1});
  return result;
}

struct Projections {
  Expr q, k, v;
  bool cross = false;  // K and V are [batch, heads, length, size] already, without a bias
};

// The projections of the first three inputs.
Projections ProjectionsOf(const FormulaCall& call) {
  if (call.Rank(0) == 5) {
    const std::vector<Expr> parts = Unpacked(call.input(0), 3);
    return {parts[0], parts[1], parts[2]};
  }
  if (!call.has_input(1)) {
    call.Fail("the key is missing, and the query is not packed with it");
    return {};
  }
  if (call.Rank(1) == 5) {
    const std::vector<Expr> parts = Unpacked(call.input(1), 2);
    return {call.input(0), parts[0], parts[1]};
  }
  if (!call.has_input(2)) call.Fail("the value is missing, and the key is not packed with it");
  return {call.input(0), call.input(1), call.input(2), call.Rank(1) == 4};
}

// The hidden size of queries and keys.
int64_t HiddenSize(const FormulaCall& call) {
  if (call.Rank(0) == 5) return call.Dim(0, 2) * call.Dim(0, 4);
  return call.Dim(0, 2);
}

void AddBias(const Expr& bias, int64_t hidden, Projections& p) {
  if (!bias.valid()) return;
  const auto part = [&](int64_t from, int64_t to) { return Slice(bias, {from}, {to}, {0}); };
  p.q = p.q + part(0, hidden);
  if (p.cross) return;
  p.k = p.k + part(hidden, 2 * hidden);
  p.v = p.v + part(2 * hidden, 0x7fffffff);
}

// Each beam's rows of a cache [batch * beams, heads, longest, size]: the first `past` positions as
// they are in the beam of the same batch that `beams`, int32[batch, beams, longest], names for
// each, the later ones its own.
Expr OfBeams(const Expr& cache, const Expr& beams, const Expr& past) {
  ExprSink& sink = *cache.sink();
  const Expr own = PositionsUpTo(DimOf(cache, 0)), width = DimOf(beams, 1);
  const Expr first = Unsqueeze(own - Mod(own, width), {1});
  const Expr named =
      Reshape(Cast(beams, DType::kInt64), Concat({sink.Ints({-1}), DimOf(beams, 2)}, 0));
  const Expr place = PositionsUpTo(DimOf(cache, 2));
  const Expr from = Where(Less(place, past), first + named, Unsqueeze(own, {1}));
  return Op("GatherElements", {cache, Expand(Unsqueeze(from, {1, 3}), Shape(cache))},
            {{"axis", int64_t{0}}});
}

// Attention to the first past + length keys of a cache, in which the fresh keys lie from `past` on.
AttentionResult CachedAttention(const AttentionCall& attention, const Expr& past_key,
                                const Expr& past_value, const Expr& past, const Expr& beams) {
  AttentionCall call = attention;
  const Expr start = Expand(past, DimOf(call.q, 0));
  const Expr length = DimOf(call.q, 1);
  const int64_t heads = std::exchange(call.q_heads, 0);
  call.kv_heads = 0;
  const Expr keys = WrittenInto(past_key, SplitHeads(call.k, heads), start);
  const Expr values = WrittenInto(past_value, SplitHeads(call.v, heads), start);
  call.q = SplitHeads(call.q, heads);
  call.k = beams.valid() ? OfBeams(keys, beams, past) : keys;
  call.v = beams.valid() ? OfBeams(values, beams, past) : values;
  call.nonpad = start + length;
  call.wants_present = false;
  AttentionResult result = StandardAttention(call);
  return {MergeHeads(result.y), keys, values, result.qk};
}

// Where the inputs of the two ops are.
struct Places {
  size_t mask, attention_bias, past_key, past_value, past_length, cache_indirection, bias;
};

std::vector<Expr> HeadsAttention(const FormulaCall& call, const Places& at, Projections p,
                                 int64_t hidden, bool causal, bool wants_qk) {
  if (call.has_input(at.cache_indirection) && (p.cross || !call.has_input(at.past_length))) {
    call.Fail("cache_indirection needs a past that shares its buffer (past_sequence_length)");
    return {};
  }
  if (call.has_input(at.past_key) != call.has_input(at.past_value)) {
    call.Fail("past_key and past_value must be given together");
    return {};
  }
  const int64_t heads = call.Int("num_heads");
  if (heads < 1) {
    call.Fail("`num_heads` must be at least 1");
    return {};
  }
  AddBias(call.input(at.bias), hidden, p);
  const bool shared = call.has_input(at.past_length) && call.has_input(at.past_key);
  AttentionCall attention = {p.q, p.k, p.v};
  attention.scale = ScaleOf(call);
  attention.causal = causal;
  attention.wants_present = call.wants_output(1) || call.wants_output(2);
  if (wants_qk) attention.qk_mode = 2;
  Expr past = call.sink().Ints({0}), length = DimOf(p.k, p.cross ? 2 : 1);
  if (shared) {
    past = Reshape(Cast(call.input(at.past_length), DType::kInt64), {1});
  } else if (call.has_input(at.past_key) && !p.cross) {
    past = DimOf(call.input(at.past_key), 2);
  }
  attention.mask =
      SumOfGiven(PaddingBias(call, at.mask, past, length), call.input(at.attention_bias));
  AttentionResult result;
  if (p.cross) {
    attention.q = SplitHeads(p.q, heads);
    result = StandardAttention(attention);
    result.y = MergeHeads(result.y);
  } else {
    attention.q_heads = attention.kv_heads = heads;
    const Expr past_key = call.input(at.past_key), past_value = call.input(at.past_value);
    const Expr beams = call.input(at.cache_indirection);
    if (shared && wants_qk) {
      // The scores are those of the keys that are there, not of the buffer.
      const auto first = [&](const Expr& cache) {
        return FirstRows(beams.valid() ? OfBeams(cache, beams, past) : cache, past);
      };
      attention.past_key = first(past_key);
      attention.past_value = first(past_value);
      result = StandardAttention(attention);
      const Expr start = Expand(past, DimOf(p.q, 0));
      result.present_key = WrittenInto(past_key, SplitHeads(p.k, heads), start);
      result.present_value = WrittenInto(past_value, SplitHeads(p.v, heads), start);
    } else if (shared) {
      result = CachedAttention(attention, past_key, past_value, past, beams);
    } else {
      attention.past_key = past_key;
      attention.past_value = past_value;
      result = StandardAttention(attention);
    }
  }
  return {result.y, result.present_key, result.present_value, result.qk};
}

std::vector<Expr> MultiHeadAttention(const FormulaCall& call) {
  const Projections p = ProjectionsOf(call);
  if (!call.sink().status().ok()) return {};
  const int64_t hidden = call.has_input(3) ? HiddenSize(call) : 0;
  return HeadsAttention(call, {4, 5, 6, 7, 8, 9, 3}, p, hidden, call.Int("unidirectional") != 0,
                        call.wants_output(3));
}

// One query position.
std::vector<Expr> DecoderMaskedMultiHeadAttention(const FormulaCall& call) {
  Projections p;
  int64_t hidden = 0;
  if (call.has_input(1)) {
    p = ProjectionsOf(call);
    hidden = call.has_input(10) ? call.Dim(0, 2) : 0;
  } else {
    hidden = call.Dim(0, 2) / 3;
    const std::vector<Expr> parts = Split(call.input(0), {hidden, hidden, hidden}, 2);
    p = {parts[0], parts[1], parts[2]};
  }
  if (!call.sink().status().ok()) return {};
  return HeadsAttention(call, {3, 4, 5, 6, 7, 9, 10}, p, hidden, false, call.wants_output(3));
}

}  // namespace

std::vector<FormulaOp> MultiHeadAttentionOps() {
  return {
      {"MultiHeadAttention <num_heads: int, unidirectional: int = 0, scale: float?,"
       " mask_filter_value: float?>"
       " (query: T, key: T?, value: T?, bias: T?, key_padding_mask: M?, attention_bias: T?,"
       " past_key: T?, past_value: T?, past_sequence_length: M?, cache_indirection: M?)"
       " -> (output: T, present_key: T?, present_value: T?, qk: Q?)"
       " where T = float|float16|bfloat16, M = int32, Q = float|float16|bfloat16",
       MultiHeadAttention},
      {"DecoderMaskedMultiHeadAttention <num_heads: int, scale: float?, mask_filter_value: float?,"
       " output_qk: int?, past_present_share_buffer: int?>"
       " (query: T, key: T?, value: T?, mask_index: M?, attention_bias: T?, past_key: T?,"
       " past_value: T?, past_sequence_length: M?, beam_width: M?, cache_indirection: M?, bias: T?)"
       " -> (output: T, present_key: T?, present_value: T?, qk: Q?)"
       " where T = float|float16, M = int32, Q = float|float16",
       DecoderMaskedMultiHeadAttention},
  };
}

}  // namespace onward::microsoft
