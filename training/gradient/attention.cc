// Attention, written as products and a softmax whose rows may be masked entirely. The node itself
// stays as it is.
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

Expr Infinity(const Expr& like) {
  return ScalarLike(like, std::numeric_limits<double>::infinity());
}

// Whether heads are packed: [batch, length, heads * size].
bool IsPacked(const GradientScope& s) {
  const auto& shape = s.input(0).type().shape;
  return shape ? shape->size() == 3 : s.attributes().Int("q_num_heads", 0) > 0;
}

// Packed heads as [batch, heads, length, size]; others as they are.
Expr SplitHeads(const Expr& x, int64_t heads, bool packed) {
  if (!packed) return x;
  return Transpose(Reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}

struct Call {
  const GradientScope& s;
  const std::vector<Expr>& inputs;
  Expr past;  // int64[1]: keys before the first query

  Expr input(size_t i) const { return i < inputs.size() ? inputs[i] : Expr(); }
  int64_t Int(std::string_view name, int64_t otherwise) const {
    return s.attributes().Int(name, otherwise);
  }
};

Expr Scale(const Call& call, const Expr& q) {
  const float given = call.s.attributes().Float("scale", 0);
  if (call.s.attributes().Has("scale") && given != 0) return ScalarLike(q, given);
  return Reciprocal(Sqrt(Cast(DimOf(q, 3), q.dtype())));
}

// Which keys a query may see by position: [batch or 1, 1, queries, keys]; omitted: all.
Expr Visible(const Call& call, const Expr& scores) {
  const int64_t left = call.Int("left_window_size", -1), right = call.Int("right_window_size", -1);
  const bool causal = call.Int("is_causal", 0) != 0;
  const Expr valid = call.input(6);
  Expr visible;
  const auto add = [&](const Expr& condition) {
    visible = visible.valid() ? And(visible, condition) : condition;
  };
  const Expr keys = Iota(DimOf(scores, 3)), queries = DimOf(scores, 2);
  Expr offset = call.past;
  if (valid.valid()) {
    const Expr count = Reshape(valid, {-1, 1, 1, 1});
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
  if (mask.dtype() == DType::kBool) mask = Where(mask, ScalarLike(scores, 0), nothing);
  const auto &keys = scores.type().shape, &own = mask.type().shape;
  const bool fits = keys && own && (own->back() == Dim(1) || own->back().SameAs(keys->back()));
  if (!fits) {
    const Expr missing = DimOf(scores, 3) - DimOf(mask, -1), none = IntsLike(scores, {0});
    const Expr alone = Equal(DimOf(mask, -1), IntsLike(scores, {1}));
    const Expr pads = expr::Concat({none, Where(alone, none, missing)}, 0);
    mask = Op("Pad", {mask, pads, nothing, IntsLike(scores, {-1})});
  }
  return scores + mask;
}

// A row in which nothing is visible is zero.
Expr Probabilities(const Call& call, const Expr& scores) {
  const int64_t precision = call.Int("softmax_precision", 0);
  const Expr x = precision == 0 ? scores : Cast(scores, static_cast<DType>(precision));
  const Expr dead = Equal(ReduceMax(x, {3}), -Infinity(x));
  const Expr rows = Softmax(Where(dead, ScalarLike(x, 0), x), 3);
  const Expr result = Masked(Not(dead), rows);
  return precision == 0 ? result : Cast(result, scores.dtype());
}

// Query heads that share a key head are rows of one product.
Expr GroupedProduct(const Expr& a, const Expr& b, const Expr& groups) {
  const Expr batch = DimOf(b, 0), heads = DimOf(b, 1);
  const Expr left = Reshape(a, expr::Concat({batch, heads, groups, Shape(a, 2, 4)}, 0), true);
  const Expr product = MatMul(left, Unsqueeze(b, {2}));
  return Reshape(product,
                 expr::Concat({batch, heads * groups, DimOf(product, 3), DimOf(product, 4)}, 0),
                 true);
}

std::vector<Expr> Compose(const Call& call) {
  const int64_t q_heads = call.Int("q_num_heads", 0), kv_heads = call.Int("kv_num_heads", 0);
  const bool packed = IsPacked(call.s);
  const Expr q = SplitHeads(call.inputs[0], q_heads, packed);
  Expr k = SplitHeads(call.inputs[1], kv_heads, packed),
       v = SplitHeads(call.inputs[2], kv_heads, packed);
  if (call.input(4).valid()) {
    k = expr::Concat({call.input(4), k}, 2);
    v = expr::Concat({call.input(5), v}, 2);
  }
  const Expr groups = DimOf(q, 1) / DimOf(k, 1);
  const Expr raw = GroupedProduct(q * Scale(call, q), SwapLastAxes(k), groups);
  const double cap = call.s.attributes().Float("softcap", 0);
  const Expr capped = cap == 0 ? raw : Tanh(raw / cap) * cap;
  const Expr visible = Visible(call, capped);
  Expr biased = Biased(capped, call.input(3));
  if (visible.valid()) biased = Where(visible, biased, -Infinity(biased));
  const Expr rows = Probabilities(call, biased);
  Expr y = GroupedProduct(rows, v, groups);
  if (packed) y = Reshape(Transpose(y, {0, 2, 1, 3}), {0, 0, -1});
  const Expr shown[] = {raw, capped, biased, rows};
  return {y, k, v, shown[std::clamp<int64_t>(call.Int("qk_matmul_output_mode", 0), 0, 3)]};
}

Gradients AttentionRule(const GradientScope& s) {
  const Expr past = s.has_input(4) ? DimOf(s.input(4), 2) : s.sink().Ints({0});
  return GradientsOf(s, [&](const std::vector<Expr>& inputs) {
    return Compose({s, inputs, past});
  });
}

constexpr GradientEntry kRules[] = {{"Attention", AttentionRule}};

}  // namespace

GradientList AttentionGradients() { return kRules; }

}  // namespace onward::gradient
