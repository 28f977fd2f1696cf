// GroupQueryAttention: fewer heads of keys and values than of queries, with a cache of them whose
// rows have lengths of their own.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/microsoft/attention.h"
#include "graph/microsoft/group_query_cache.h"

namespace onward::microsoft {
namespace {

struct Sizes {
  int64_t heads = 0, kv_heads = 0, head_size = 0;
};

// The three inputs, or the parts of the first.
std::vector<Expr> ProjectionsOf(const FormulaCall& call, Sizes& sizes) {
  sizes.heads = call.Int("num_heads");
  sizes.kv_heads = call.Int("kv_num_heads");
  if (sizes.heads < 1 || sizes.kv_heads < 1 || sizes.heads % sizes.kv_heads != 0) {
    call.Fail(absl::StrCat(sizes.heads, " heads do not share ", sizes.kv_heads,
                           " of keys and values evenly"));
    return {};
  }
  const bool packed = !call.has_input(1);
  const int64_t all = packed ? sizes.heads + 2 * sizes.kv_heads : sizes.heads;
  const int64_t hidden = call.Dim(0, 2);
  if (hidden % all != 0) call.Fail(absl::StrCat("query's ", hidden, " do not divide by ", all));
  sizes.head_size = hidden / all;
  if (!call.sink().status().ok()) return {};
  if (!packed) return {call.input(0), call.input(1), call.input(2)};
  const int64_t kv = sizes.kv_heads * sizes.head_size;
  return Split(call.input(0), {sizes.heads * sizes.head_size, kv, kv}, 2);
}

// Normalizes each head, before it is turned.
Expr HeadNormalized(const FormulaCall& call, const Expr& x, int64_t heads, const Expr& weight) {
  if (!weight.valid()) return x;
  const Expr y = Op("RMSNormalization", {Reshape(x, {0, 0, heads, -1}), weight},
                    {{"axis", int64_t{-1}}, {"epsilon", call.Float("qk_norm_epsilon")}});
  return Reshape(y, {0, 0, -1});
}

// Which positions the new tokens of each batch take.
struct Rows {
  Expr start;      // int64[batch]
  Expr valid;      // int64[batch]: keys that count, the new ones included
  Expr positions;  // int64[batch, length], for the rotation
};

// A first prompt (as many tokens as there are in all) starts at 0, padded on the right or not.
Rows RowsOf(const FormulaCall& call, const Expr& length) {
  const Expr totals = Reshape(Cast(call.input(5), DType::kInt64), {-1}) + 1;
  const Expr longest = Reshape(Cast(call.input(6), DType::kInt64), {1});
  const Expr prompt = Equal(longest, length);
  Rows rows;
  rows.valid = Where(prompt, length, totals);
  rows.start = rows.valid - length;
  const Expr steps = PositionsUpTo(length);
  rows.positions = Unsqueeze(rows.start, {1}) + steps;
  if (call.has_input(9)) {
    const Expr given = call.input(9);
    const Expr from_first = Slice(Slice(given, {0}, {1}, {0}), {0}, {1}, {1}) + steps;
    rows.positions = Where(prompt, Expand(from_first, Shape(given)), given);
  }
  return rows;
}

Expr Rotated(const FormulaCall& call, const Expr& x, int64_t heads, int64_t head_size,
             const Expr& positions) {
  const int64_t size = 2 * call.Dim(7, 1);
  return Op("RotaryEmbedding", {x, call.input(7), call.input(8), positions},
            {{"num_heads", heads},
             {"rotary_embedding_dim", size == head_size ? 0 : size},
             {"interleaved", call.Int("rotary_interleaved")}});
}

// A cache of at least `longest` rows with the fresh ones written from `start` on.
Expr Grown(const Expr& past, const Expr& fresh, const Expr& longest, const Expr& start) {
  ExprSink& sink = *past.sink();
  const Expr rows = DimOf(past, 2);
  const Expr more = Max(longest, rows) - rows;
  const Expr pads = Concat({sink.Ints({0, 0, 0, 0, 0, 0}), more, sink.Ints({0})}, 0);
  return WrittenInto(Op("Pad", {past, pads}), fresh, start);
}

// The mask of keys that a query does not see, by causality and its window, as a sum: [batch, 1,
// length, keys]. With `sink` the first key is one that all see.
Expr Hidden(const AttentionCall& attention, const Rows& rows, bool sink) {
  const Expr keys = PositionsUpTo(DimOf(attention.k, 2));
  const Expr key = sink ? keys - 1 : keys;
  const Expr query =
      Unsqueeze(rows.start, {1, 2}) + Unsqueeze(PositionsUpTo(DimOf(attention.q, 2)), {1});
  Expr seen = Less(key, Unsqueeze(rows.valid, {1, 2}));
  if (attention.causal) seen = And(seen, LessOrEqual(key, query));
  if (attention.left_window >= 0) {
    const Expr first = query - static_cast<double>(attention.left_window);
    seen = And(seen, GreaterOrEqual(key, first));
  }
  if (sink) seen = Or(seen, Equal(keys, ScalarLike(keys, 0)));
  const double masked = -std::numeric_limits<double>::infinity();
  return Unsqueeze(Where(seen, ScalarLike(attention.q, 0), ScalarLike(attention.q, masked)), {1});
}

// Says with a mask what nonpad and the attributes say.
void MaskInstead(const Rows& rows, bool sink, AttentionCall& attention) {
  attention.mask = SumOfGiven(Hidden(attention, rows, sink), attention.mask);
  attention.nonpad = {};
  attention.causal = false;
  attention.left_window = -1;
}

// Puts `sink` (of each head; omitted: 0) into the softmax's denominator: one key more in front of
// all, which every query attends, whose score is the sink and whose value is 0. Q and K get an
// element more, of which that score is made. Q, K and V are [batch, heads, length, size].
void AddSink(const Expr& sink, const Sizes& sizes, const Rows& rows, AttentionCall& attention) {
  ExprSink& s = *attention.q.sink();
  const Expr zero = ScalarLike(attention.q, 0), one = s.Ints({1});
  const Expr batch = DimOf(attention.q, 0), keys = DimOf(attention.k, 2);
  const Expr heads = s.Ints({sizes.heads}), kv_heads = s.Ints({sizes.kv_heads});
  if (!attention.scale) {
    attention.scale = 1.0f / std::sqrt(static_cast<float>(sizes.head_size));
  }
  // A soft cap would bend a score, but what the mask adds comes after it.
  const bool by_mask = sink.valid() && attention.softcap != 0;
  const bool by_score = sink.valid() && !by_mask;
  const Expr scores = by_score ? sink * (1.0 / *attention.scale) : Expand(zero, heads);
  const Expr of_queries =
      Expand(Unsqueeze(scores, {1, 2}), Concat({batch, heads, DimOf(attention.q, 2), one}, 0));
  attention.q = Concat({attention.q, of_queries}, 3);
  const Expr none = Expand(zero, Concat({batch, kv_heads, one, s.Ints({sizes.head_size})}, 0));
  const Expr first = Equal(PositionsUpTo(keys + 1), s.Scalar(0, DType::kInt64));
  const Expr of_keys = Expand(Unsqueeze(Cast(first, attention.q.dtype()), {1}),
                              Concat({batch, kv_heads, keys + 1, one}, 0));
  attention.k = Concat({Concat({none, attention.k}, 2), of_keys}, 3);
  attention.v = Concat({none, attention.v}, 2);
  attention.nonpad = rows.valid + 1;
  if (by_mask) {
    const Expr queries = DimOf(attention.q, 2);
    const Expr given = attention.mask.valid() ? attention.mask : zero;
    const Expr column = Expand(Unsqueeze(sink, {1, 2}), Concat({batch, heads, queries, one}, 0));
    attention.mask = Concat({column, Expand(given, Concat({batch, heads, queries, keys}, 0))}, 3);
  } else if (attention.mask.valid()) {
    const Expr column = Expand(zero, Concat({Shape(attention.mask, 0, 3), one}, 0));
    attention.mask = Concat({column, attention.mask}, 3);
  }
  // The window would leave the sink out; nonpad cannot go with the output of scores.
  if (attention.left_window >= 0 || attention.qk_mode) MaskInstead(rows, true, attention);
}

// The call but for its tensors.
AttentionCall CallOf(const FormulaCall& call, const Sizes& sizes) {
  AttentionCall attention;
  attention.q_heads = sizes.heads;
  attention.kv_heads = sizes.kv_heads;
  attention.scale = ScaleOf(call);
  attention.causal = call.Int("causal") != 0;
  attention.softcap = call.Float("softcap");
  if (call.Int("local_window_size") > 0) attention.left_window = call.Int("local_window_size") - 1;
  attention.mask = call.input(10);
  attention.wants_present = true;
  if (call.Int("qk_output") != 0 && call.wants_output(3)) {
    attention.qk_mode = call.Int("qk_output") == 1 ? 2 : 3;
  }
  return attention;
}

// Scores of keys that do not count are 0.
Expr WithoutInfinity(const Expr& qk) {
  return qk.valid() ? Where(Op("IsInf", {qk}), ScalarLike(qk, 0), qk) : qk;
}

// Keys and values that the new tokens attend, and what is kept of them.
struct Kept {
  Expr present_key, present_value;
  bool window = false;  // the mask of `attention` says which keys count
};

bool FitsWindow(const FormulaCall& call) {
  if (call.Int("local_window_size") < 1) {
    call.Fail("`sliding_window_cache` needs a `local_window_size`");
  } else if (call.Int("qk_output") != 0 && call.wants_output(3)) {
    call.sink().Fail(absl::UnimplementedError(
        "scores (qk_output) with `sliding_window_cache` are not supported"));
  }
  return call.sink().status().ok();
}

// Puts the cache under the new keys and values of `attention`, [batch, heads, length, size].
Kept WithCache(const FormulaCall& call, const Sizes& sizes, const Rows& rows,
               AttentionCall& attention) {
  const CacheFormat keys =
      CacheFormatOf(call, "k_quant_type", 3, 12, sizes.kv_heads, sizes.head_size);
  const CacheFormat values =
      CacheFormatOf(call, "v_quant_type", 4, 13, sizes.kv_heads, sizes.head_size);
  const bool window = call.Int("sliding_window_cache") != 0;
  if (!call.sink().status().ok() || (window && !FitsWindow(call))) return {};
  const DType dtype = attention.q.dtype();
  const Expr past_key = call.input(3), past_value = call.input(4);
  const Expr key = keys.Stored(attention.k), value = values.Stored(attention.v);
  Kept kept;
  kept.window = window;
  if (window) {
    const WindowCache cache(past_key, call.Int("local_window_size"), rows.start,
                            DimOf(attention.q, 2));
    kept.present_key = cache.Next(past_key, key);
    kept.present_value = cache.Next(past_value, value);
    attention.k = keys.Read(Concat({past_key, key}, 2), dtype);
    attention.v = values.Read(Concat({past_value, value}, 2), dtype);
    const Expr bias = attention.mask.valid() ? cache.ColumnsOf(attention.mask) : Expr();
    attention.mask = SumOfGiven(cache.Hidden(dtype, attention.causal), bias);
    attention.causal = false;
    attention.left_window = -1;
    return kept;
  }
  const Expr longest = Reshape(Cast(call.input(6), DType::kInt64), {1});
  kept.present_key = Grown(past_key, key, longest, rows.start);
  kept.present_value = Grown(past_value, value, longest, rows.start);
  attention.k = keys.Read(kept.present_key, dtype);
  attention.v = values.Read(kept.present_value, dtype);
  attention.nonpad = rows.valid;
  return kept;
}

// Scores of the keys that there are: without the sink's, and not of a buffer's empty end.
Expr ScoresOf(const FormulaCall& call, Expr qk, bool sink) {
  if (qk.valid() && sink) qk = Slice(qk, {1}, {0x7fffffff}, {3});
  if (qk.valid() && call.has_input(3)) {
    const Expr longest = Reshape(Cast(call.input(6), DType::kInt64), {1});
    qk = Op("Slice", {qk, longest - longest, longest, call.sink().Ints({3})});
  }
  return WithoutInfinity(qk);
}

std::vector<Expr> GroupQueryAttention(const FormulaCall& call) {
  Sizes sizes;
  const std::vector<Expr> qkv = ProjectionsOf(call, sizes);
  if (qkv.empty()) return {};
  const Rows rows = RowsOf(call, DimOf(qkv[0], 1));
  AttentionCall attention = CallOf(call, sizes);
  attention.q = HeadNormalized(call, qkv[0], sizes.heads, call.input(14));
  attention.k = HeadNormalized(call, qkv[1], sizes.kv_heads, call.input(15));
  attention.v = qkv[2];
  if (call.Int("do_rotary") != 0) {
    attention.q = Rotated(call, attention.q, sizes.heads, sizes.head_size, rows.positions);
    attention.k = Rotated(call, attention.k, sizes.kv_heads, sizes.head_size, rows.positions);
  }
  const bool past = call.has_input(3), sink = call.has_input(11) || call.Int("smooth_softmax") == 1;
  const bool quantized =
      call.String("k_quant_type") != "NONE" || call.String("v_quant_type") != "NONE";
  if (!past && (quantized || call.Int("sliding_window_cache") != 0)) {
    call.Fail("past_key and past_value are missing, which this kind of cache needs");
    return {};
  }
  if (!past && !sink) {
    const AttentionResult result = StandardAttention(attention);
    return {result.y, result.present_key, result.present_value, WithoutInfinity(result.qk)};
  }
  attention.q = SplitHeads(attention.q, sizes.heads);
  attention.k = SplitHeads(attention.k, sizes.kv_heads);
  attention.v = SplitHeads(attention.v, sizes.kv_heads);
  attention.q_heads = attention.kv_heads = 0;
  attention.wants_present = false;
  Kept kept = {attention.k, attention.v};
  if (past) kept = WithCache(call, sizes, rows, attention);
  if (!call.sink().status().ok()) return {};
  if (sink) {
    AddSink(call.input(11), sizes, rows, attention);
    if (kept.window) attention.nonpad = {};
  } else if (attention.qk_mode) {
    MaskInstead(rows, false, attention);
  }
  const AttentionResult result = StandardAttention(attention);
  return {MergeHeads(result.y), kept.present_key, kept.present_value,
          ScoresOf(call, result.qk, sink)};
}

}  // namespace

std::vector<FormulaOp> GroupQueryAttentionOps() {
  return {
      {"GroupQueryAttention <num_heads: int, kv_num_heads: int, scale: float?, softcap: float?,"
       " local_window_size: int = -1, do_rotary: int?, rotary_interleaved: int?,"
       " smooth_softmax: int = -1, qk_output: int = 0, causal: int = 1,"
       " qk_norm_epsilon: float = 1e-6, k_quant_type: string = \"NONE\","
       " v_quant_type: string = \"NONE\", kv_cache_bit_width: int?,"
       " sliding_window_cache: int = 0>"
       " (query: T, key: T?, value: T?, past_key: C?, past_value: C?, seqlens_k: M,"
       " total_sequence_length: M, cos_cache: T?, sin_cache: T?, position_ids: I?,"
       " attention_bias: T?, head_sink: T?, k_scale: S?, v_scale: S?, q_norm_weight: T?,"
       " k_norm_weight: T?)"
       " -> (output: T, present_key: C?, present_value: C?, output_qk: T?)"
       " where T = float16|bfloat16|float,"
       " C = float|float16|bfloat16|uint8|int8|float8e4m3fn, M = int32, I = int64, S = float",
       GroupQueryAttention},
  };
}

}  // namespace onward::microsoft
