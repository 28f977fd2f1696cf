#include "graph/infer/dim_rules.h"

namespace onward {
namespace {

using MaybeDims = std::optional<SymbolicDims>;

// Batch, heads, length and size of one of Q, K and V.
struct Heads {
  Dim batch, heads, length, size;
  Dim hidden;  // heads * size, of rank 3
};

std::optional<Heads> HeadsOf(const InferScope& scope, size_t input, const char* attribute) {
  const SymbolicDims* dims = scope.Shape(input);
  if (dims == nullptr) return std::nullopt;
  if (dims->size() == 4) return Heads{(*dims)[0], (*dims)[1], (*dims)[2], (*dims)[3], Dim()};
  const int64_t heads = scope.node.attributes.Int(attribute, 0);
  if (dims->size() != 3 || heads < 1) return std::nullopt;
  const Dim& hidden = (*dims)[2];
  const Dim size = hidden.known() ? Dim(hidden.value() / heads) : Dim();
  return Heads{(*dims)[0], Dim(heads), (*dims)[1], size, hidden};
}

MaybeDims Attention(const InferScope& scope, size_t output) {
  const auto q = HeadsOf(scope, 0, "q_num_heads"), k = HeadsOf(scope, 1, "kv_num_heads"),
             v = HeadsOf(scope, 2, "kv_num_heads");
  if (!q || !k || !v) return std::nullopt;
  if (output == 0) {
    if (scope.Shape(0)->size() == 4) return SymbolicDims{q->batch, q->heads, q->length, v->size};
    const bool same = q->heads.SameAs(v->heads);
    return SymbolicDims{q->batch, q->length,
                        same              ? v->hidden
                        : v->size.known() ? DimMul(q->heads, v->size)
                                          : Dim()};
  }
  Dim total = k->length;
  if (scope.HasInput(4)) {
    const SymbolicDims* past = scope.Shape(4);
    total = past != nullptr && past->size() == 4 ? DimAdd((*past)[2], total) : Dim();
  }
  if (output == 3) return SymbolicDims{q->batch, q->heads, q->length, total};
  return SymbolicDims{q->batch, k->heads, total, output == 1 ? k->size : v->size};
}

constexpr DimRule kRules[] = {{"Attention", Attention}};

}  // namespace

absl::Span<const DimRule> AttentionDimRules() { return kRules; }

}  // namespace onward
