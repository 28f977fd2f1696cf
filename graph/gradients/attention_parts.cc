#include <algorithm>
#include <limits>

#include "graph/gradients/attention.h"

namespace onward::gradients {

using namespace expr;  // NOLINT: formulas

namespace {

Expr DimOf(const Expr& x, int64_t axis) {
  return axis == -1 ? Op("Shape", {x}, {{"start", int64_t{-1}}}) : Shape(x, axis, axis + 1);
}
Expr Iota(const Expr& count) {
  return Op("Range", {count.sink()->Scalar(0, DType::kInt64), Squeeze(count, {0}),
                      count.sink()->Scalar(1, DType::kInt64)});
}
Expr Infinity(const Expr& like) {
  return ScalarLike(like, std::numeric_limits<double>::infinity());
}

Expr Scale(const Attributes& attributes, const Expr& q) {
  const float given = attributes.Float("scale", 0);
  if (attributes.Has("scale") && given != 0) return ScalarLike(q, given);
  return Reciprocal(Sqrt(Cast(DimOf(q, 3), q.dtype())));
}

// Which keys a query may see by position: [batch or 1, 1, queries, keys]; omitted: all.
Expr Visible(const AttentionOperands& call, const Expr& scores) {
  const int64_t left = call.attributes.Int("left_window_size", -1),
                right = call.attributes.Int("right_window_size", -1);
  const bool causal = call.attributes.Int("is_causal", 0) != 0;
  Expr visible;
  const auto add = [&](const Expr& condition) {
    visible = visible.valid() ? And(visible, condition) : condition;
  };
  const Expr keys = Iota(DimOf(scores, 3)), queries = DimOf(scores, 2);
  Expr offset = call.past_length;
  if (call.nonpad.valid()) {
    const Expr count = Reshape(call.nonpad, {-1, 1, 1, 1});
    add(Less(keys, count));
    offset = count - queries;
  }
  if (causal || left >= 0 || right >= 0) {
    const Expr at = offset + Unsqueeze(Iota(queries), {1});
    if (causal) add(LessOrEqual(keys, at));
    if (right >= 0) add(LessOrEqual(keys, at + static_cast<double>(right)));
    if (left >= 0) add(GreaterOrEqual(keys, at - static_cast<double>(left)));
  }
  return visible;
}

// The mask, filled up at its end for keys that it does not name.
Expr Biased(const Expr& scores, Expr mask) {
  if (!mask.valid()) return scores;
  const Expr nothing = -Infinity(scores);
  if (mask.dtype() == DType::kBool) {
    mask = Where(mask, ScalarLike(scores, 0), nothing);
  } else if (mask.dtype() != scores.dtype()) {
    mask = Cast(mask, scores.dtype());
  }
  const auto &keys = scores.type().shape, &own = mask.type().shape;
  const bool fits = keys && own && (own->back() == Dim(1) || own->back().SameAs(keys->back()));
  if (!fits) {
    const Expr missing = DimOf(scores, 3) - DimOf(mask, -1);
    const Expr none = scores.sink()->Ints({0});
    const Expr alone = Equal(DimOf(mask, -1), scores.sink()->Ints({1}));
    const Expr pads = expr::Concat({none, Where(alone, none, missing)}, 0);
    mask = Op("Pad", {mask, pads, nothing, scores.sink()->Ints({-1})});
  }
  return scores + mask;
}

// A row in which nothing is visible is zero.
Expr Probabilities(const Attributes& attributes, const Expr& scores) {
  const int64_t precision = attributes.Int("softmax_precision", 0);
  const Expr x = precision == 0 ? scores : Cast(scores, static_cast<DType>(precision));
  const Expr dead = Equal(ReduceMax(x, {3}), -Infinity(x));
  const Expr rows = Softmax(Where(dead, ScalarLike(x, 0), x), 3);
  return Where(Not(dead), rows, ScalarLike(rows, 0));
}

// Returns whether heads are packed: [batch, length, heads * size].
bool IsPacked(const AttentionOperands& call) {
  const auto& shape = call.q.type().shape;
  return shape ? shape->size() == 3 : call.attributes.Int("q_num_heads", 0) > 0;
}

}  // namespace

Expr SplitHeads(const Expr& x, int64_t heads, bool is_packed) {
  if (!is_packed) return x;
  return Transpose(Reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}
Expr MergeHeads(const Expr& x, bool is_packed) {
  if (!is_packed) return x;
  return Reshape(Transpose(x, {0, 2, 1, 3}), {0, 0, -1});
}

Expr GroupedProduct(const Expr& a, const Expr& b, const Expr& groups) {
  const Expr batch = DimOf(b, 0), heads = DimOf(b, 1);
  const Expr left = Reshape(a, expr::Concat({batch, heads, groups, Shape(a, 2, 4)}, 0), true);
  const Expr product = MatMul(left, Unsqueeze(b, {2}));
  return Reshape(product,
                 expr::Concat({batch, heads * groups, DimOf(product, 3), DimOf(product, 4)}, 0),
                 true);
}

AttentionParts WriteAttention(const AttentionOperands& call) {
  const int64_t q_heads = call.attributes.Int("q_num_heads", 0),
                kv_heads = call.attributes.Int("kv_num_heads", 0);
  AttentionParts parts;
  parts.is_packed = IsPacked(call);
  parts.q = SplitHeads(call.q, q_heads, parts.is_packed);
  parts.k = SplitHeads(call.k, kv_heads, parts.is_packed);
  parts.v = SplitHeads(call.v, kv_heads, parts.is_packed);
  if (call.past_key.valid()) {
    parts.k = expr::Concat({call.past_key, parts.k}, 2);
    parts.v = expr::Concat({call.past_value, parts.v}, 2);
  }
  parts.groups = DimOf(parts.q, 1) / DimOf(parts.k, 1);
  parts.scale = Scale(call.attributes, parts.q);
  parts.raw = GroupedProduct(parts.q * parts.scale, Transpose(parts.k, {0, 1, 3, 2}), parts.groups);
  const double cap = call.attributes.Float("softcap", 0);
  parts.capped = cap == 0 ? parts.raw : Tanh(parts.raw / cap) * cap;
  const Expr visible = Visible(call, parts.capped);
  parts.biased = Biased(parts.capped, call.mask);
  if (visible.valid()) parts.biased = Where(visible, parts.biased, -Infinity(parts.biased));
  parts.precise = Probabilities(call.attributes, parts.biased);
  parts.rows = parts.precise.dtype() == parts.capped.dtype()
                   ? parts.precise
                   : Cast(parts.precise, parts.capped.dtype());
  parts.y = MergeHeads(GroupedProduct(parts.rows, parts.v, parts.groups), parts.is_packed);
  return parts;
}

}  // namespace onward::gradients
