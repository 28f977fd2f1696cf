// A constant mask that hides from each query the keys behind it says what is_causal says: kernels
// then leave out what is hidden.
#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// Returns whether the element keeps a score as it is, or hides it.
template <typename T>
bool Keeps(T element) {
  return static_cast<float>(element) == 0.0f;
}
template <typename T>
bool Hides(T element) {
  return static_cast<float>(element) <= -1e30f;  // so low that a score added to it does not matter
}
template <>
bool Keeps(bool element) {
  return element;
}
template <>
bool Hides(bool element) {
  return !element;
}

// True if the mask's last two dims keep the keys up to the query's own position, and no others.
bool IsTriangle(const Tensor& mask) {
  const size_t rank = mask.dims().size();
  const int64_t rows = mask.dims()[rank - 2], columns = mask.dims()[rank - 1];
  bool fits = false;
  using Types = TypeList<float, double, Float16, BFloat16, bool>;
  DispatchDType(Types(), mask.dtype(), [&](auto tag) {
    const auto* row = mask.data<typename decltype(tag)::type>();
    fits = true;
    for (int64_t i = 0; fits && i < rows; ++i, row += columns) {
      for (int64_t j = 0; fits && j < columns; ++j) fits = j <= i ? Keeps(row[j]) : Hides(row[j]);
    }
  });
  return fits;
}

std::optional<Patch> OnCausalMask(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if (NumInputs(node) != 4 || node.outputs.size() != 1) return std::nullopt;
  const Tensor* mask = FixedConstant(graph, node.inputs[3]);
  const int rank = RankOf(graph, node.inputs[0]);
  if (mask == nullptr || mask->rank() < 2 || (rank != 3 && rank != 4) ||
      RankOf(graph, node.inputs[1]) != rank) {
    return std::nullopt;
  }
  const auto length = [&](size_t input) {
    return (*graph.type(node.inputs[input]).shape)[rank == 3 ? 1 : 2];
  };
  const DimsView dims = mask->dims();
  const int64_t queries = dims[dims.size() - 2], keys = dims[dims.size() - 1];
  if (queries < 2 || NumElements(dims) != queries * keys || length(0) != Dim(queries) ||
      length(1) != Dim(keys) || !IsTriangle(*mask)) {
    return std::nullopt;
  }
  Attributes attributes = node.attributes;
  attributes.Set("is_causal", int64_t{1});
  Patch patch(graph);
  patch.Replace(node.outputs[0],
                patch.AddNode("Attention", {node.inputs.begin(), node.inputs.begin() + 3},
                              std::move(attributes)));
  return patch;
}

constexpr Rule kRules[] = {{"fuse_causal_mask", "Attention", OnCausalMask}};

}  // namespace

absl::StatusOr<int> FuseAttentionMask(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
