// The gradient of Attention by queries, keys and values, from scores that are computed again (Dao
// et al., "FlashAttention", 2022, appendix B).
#include "graph/gradients/attention.h"

#include "graph/gradients/gradients.h"
#include "graph/ops/onward_schemas.h"

namespace onward::gradients {
namespace {

using namespace expr;  // NOLINT: formulas

// [batch, query heads, queries, n] as [batch, key heads, rows of a group, n].
Expr Grouped(const Expr& x, const Expr& keys, const Expr& groups) {
  const Expr rows = groups * Shape(x, 2, 3);
  return Reshape(x, expr::Concat({Shape(keys, 0, 2), rows, Shape(x, 3, 4)}, 0), true);
}

bool IsNarrow(const Expr& x) {
  return x.valid() && (x.dtype() == DType::kFloat16 || x.dtype() == DType::kBFloat16);
}

// The op on 16-bit floats as the op on float32.
std::vector<Expr> InFloat32(const FormulaCall& call) {
  std::vector<Expr> inputs;
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    const Expr x = call.input(i);
    inputs.push_back(IsNarrow(x) ? Cast(x, DType::kFloat32) : x);
  }
  std::vector<bool> wanted;
  for (size_t i = 0; i < call.num_outputs(); ++i) wanted.push_back(call.wants_output(i));
  std::vector<Expr> gradients =
      call.sink().OpsWanted("AttentionGradient", inputs, wanted, call.attributes(), kOnwardDomain);
  for (Expr& gradient : gradients)
    if (gradient.valid()) gradient = Cast(gradient, call.input(0).dtype());
  return gradients;
}

std::vector<Expr> AttentionGradient(const FormulaCall& call) {
  if (IsNarrow(call.input(0))) return InFloat32(call);
  const AttentionParts parts =
      WriteAttention({call.attributes(), call.input(0), call.input(1), call.input(2), call.input(4),
                      Expr(), Expr(), call.input(5), call.sink().Ints({0})});
  const auto swapped = [](const Expr& x) { return Transpose(x, {0, 1, 3, 2}); };
  const Expr dy = SplitHeads(call.input(3), call.Int("q_num_heads"), parts.is_packed);
  const Expr p = parts.precise;
  const Expr flowing = GroupedProduct(dy, swapped(parts.v), parts.groups);
  const Expr dp = flowing.dtype() == p.dtype() ? flowing : Cast(flowing, p.dtype());
  Expr ds = p * (dp - ReduceSum(p * dp, {3}));
  if (ds.dtype() != flowing.dtype()) ds = Cast(ds, flowing.dtype());
  const double cap = call.Float("softcap");
  if (cap != 0) {
    const Expr share = parts.capped / cap;
    ds = ds * (1.0 - share * share);
  }
  ds = ds * parts.scale;
  const Expr dq = GroupedProduct(ds, parts.k, parts.groups);
  const auto grouped = [&](const Expr& x) { return Grouped(x, parts.k, parts.groups); };
  const Expr dk = MatMul(swapped(grouped(ds)), grouped(parts.q));
  const Expr dv = MatMul(swapped(grouped(parts.rows)), grouped(dy));
  return {MergeHeads(dq, parts.is_packed), MergeHeads(dk, parts.is_packed),
          MergeHeads(dv, parts.is_packed)};
}

}  // namespace

std::vector<FormulaOp> AttentionOps() {
  // The attributes and inputs are Attention's, dY is the gradient of its first output.
  return {
      {"AttentionGradient <is_causal: int = 0, kv_num_heads: int?, left_window_size: int = -1,"
       " q_num_heads: int?, right_window_size: int = -1, scale: float?, softcap: float = 0,"
       " softmax_precision: int?>"
       " (Q: T, K: T, V: T, dY: T, attn_mask: M?, nonpad_kv_seqlen: I?)"
       " -> (dQ: T?, dK: T?, dV: T?) where T = float|double|float16|bfloat16,"
       " M = bool|float|double|float16|bfloat16, I = int64",
       AttentionGradient}};
}

}  // namespace onward::gradients
