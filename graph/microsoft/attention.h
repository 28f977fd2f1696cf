// Parts of the attention ops of com.microsoft: masks, heads and the standard's op.
#pragma once

#include <optional>

#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {

// A call of the standard's Attention. Q, K and V are all [batch, length, heads * size] or all
// [batch, heads, length, size]; what may be omitted is not valid().
struct AttentionCall {
  Expr q, k, v;
  Expr mask = {};  // added to the scores
  Expr past_key = {}, past_value = {};
  Expr nonpad = {};  // int64[batch]; not with a past
  int64_t q_heads = 0, kv_heads = 0;
  std::optional<float> scale = {};
  bool causal = false;
  float softcap = 0;
  int64_t left_window = -1;
  bool wants_present = false;
  std::optional<int64_t> qk_mode = {};  // of the output qk, where it is wanted
};

struct AttentionResult {
  Expr y;  // of Q's rank
  Expr present_key, present_value, qk;
};

AttentionResult StandardAttention(const AttentionCall& call);

// `scale` as these ops have it: absent or 0 is 1 / sqrt(head size).
std::optional<float> ScaleOf(const FormulaCall& call);

// [batch, length, heads * size] to [batch, heads, length, size] and back.
Expr SplitHeads(const Expr& x, int64_t heads);
Expr MergeHeads(const Expr& x);

// A dim as int64[1], and 0 to `length` - 1 as int64[length].
Expr DimOf(const Expr& x, int64_t axis);
Expr PositionsUpTo(const Expr& length);

// The bias that a padding mask adds to the scores: 0 where keys count, mask_filter_value where
// not, of the dtype of input 0. Input `mask` has int32 of the shape
//   [batch, 1, longest, longest], [batch, length, total] or [batch, total]: 1 where keys count;
//   [batch]: how many keys count; [2 batch]: ends, then starts; [3 batch + 2]: counts, and more.
// Omitted where the mask is. `past` and `length` are how many keys are old and new, as int64[1].
Expr PaddingBias(const FormulaCall& call, size_t mask, const Expr& past, const Expr& length);

// The sum of what is given.
Expr SumOfGiven(const Expr& a, const Expr& b);

// Keys or values `fresh` [batch, heads, length, size] written over those of `cache` from position
// `start` (int64[batch]) of each batch on.
Expr WrittenInto(const Expr& cache, const Expr& fresh, const Expr& start);

// The first `count` (int64[1]) positions of a cache.
Expr FirstRows(const Expr& cache, const Expr& count);

// Rows of tokens [tokens, size] put where `token_offset` (int32[batch, length]: of tokens first, of
// padding then) has them, [batch, length, size]; padding is 0.
Expr Padded(const Expr& tokens, const Expr& token_offset);

}  // namespace onward::microsoft
