// Attention in ops that have gradients: products and a softmax whose rows may be masked entirely.
#pragma once

#include "onward/attribute.h"
#include "onward/functions.h"

namespace onward::gradients {

// The inputs of the standard's Attention; what may be omitted is not valid().
struct AttentionOperands {
  const Attributes& attributes;
  Expr q, k, v;
  Expr mask = {}, past_key = {}, past_value = {}, nonpad = {};
  Expr past_length;  // int64[1]: keys before the first query
};

// Shapes are [batch, query heads, queries, keys] unless said otherwise.
struct AttentionParts {
  Expr q, k, v;    // [batch, heads, length, size]; keys and values with those of the past
  Expr scale;      // of the products
  Expr groups;     // int64[1]: query heads that share a key head
  Expr raw;        // scaled products
  Expr capped;     // by softcap
  Expr biased;     // -inf where masked
  Expr precise;    // probabilities in the dtype of softmax_precision
  Expr rows;       // probabilities
  Expr y;          // as the op's output
  bool is_packed;  // heads are part of the last axis of the op's inputs
};
AttentionParts WriteAttention(const AttentionOperands& operands);

// Packed heads as [batch, heads, length, size], others as they are; and back.
Expr SplitHeads(const Expr& x, int64_t heads, bool is_packed);
Expr MergeHeads(const Expr& x, bool is_packed);

// a [batch, query heads, m, k] times b [batch, key heads, k, n].
Expr GroupedProduct(const Expr& a, const Expr& b, const Expr& groups);

}  // namespace onward::gradients
