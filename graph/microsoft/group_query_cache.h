// The cache of GroupQueryAttention: earlier tokens in integers with scales, or in the window
// alone.
#pragma once

#include "graph/microsoft/attention.h"

namespace onward::microsoft {

// The format of keys or values: as they are, in 8 bits, or in two times 4 bits a byte, the first
// element low, each 8 more than it is.
struct CacheFormat {
  int64_t bits = 0;  // 0: as they are
  int64_t head_size = 0;
  Expr scale;  // float[1] or float[1, heads, 1, size]

  // Both take [batch, heads, length, size]; Read returns `dtype`.
  Expr Stored(const Expr& x) const;
  Expr Read(const Expr& stored, DType dtype) const;
};

// From the attribute `type` (NONE, PER_TENSOR, PER_CHANNEL), kv_cache_bit_width and the inputs.
CacheFormat CacheFormatOf(const FormulaCall& call, const char* type, size_t cache, size_t scale,
                          int64_t heads, int64_t head_size);

// A cache of `capacity` rows that holds the last keys: all of them until it is full; then it keeps
// what the window still needs of them, and fills up again.
class WindowCache {
 public:
  // `past`: one of the caches; `window`: keys that a query sees, itself included; `start`,
  // `length`: tokens before these ones (int64[batch]), and of these ones (int64[1]).
  WindowCache(const Expr& past, int64_t window, const Expr& start, const Expr& length);

  // The cache with the new rows; what holds nothing is 0.
  Expr Next(const Expr& past, const Expr& fresh) const;
  // Added to the scores of the keys [past, fresh]: hides what holds nothing, what comes later where
  // `causal`, and what has left the window. [batch, 1, length, capacity + length]
  Expr Hidden(DType dtype, bool causal) const;
  // The columns of those keys out of `bias`, [batch or 1, heads or 1, length, tokens so far].
  Expr ColumnsOf(const Expr& bias) const;

 private:
  Expr Held(const Expr& tokens) const;  // rows after so many tokens
  Expr Keys() const;  // where the keys are in the text, int64[batch, 1, capacity + length]

  const int64_t window_;
  Expr start_, length_, capacity_;
};

}  // namespace onward::microsoft
