// ScatterElements whose indices are the same for all elements of a row writes rows: ScatterND,
// which copies each at once and needs no index for every element. Detectors of torchvision put the
// regions of several maps together so.
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

const SymbolicDims* DimsOf(const Graph& graph, ValueId value) {
  const Type& type = graph.type(value);
  return type.is_tensor() && type.shape ? &*type.shape : nullptr;
}

// Returns whether `dims` are [n, 1, ..., 1], of `rank` axes.
bool IsColumn(const SymbolicDims& dims, size_t rank) {
  if (dims.size() != rank) return false;
  for (size_t i = 1; i < rank; ++i)
    if (!dims[i].SameAs(Dim(1))) return false;
  return true;
}

bool HaveSameRows(const SymbolicDims& a, const SymbolicDims& b) {
  if (a.size() != b.size() || a.size() < 2) return false;
  for (size_t i = 1; i < a.size(); ++i)
    if (!a[i].SameAs(b[i])) return false;
  return true;
}

std::optional<Patch> Rows(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const Node* expand = MadeBy(graph, node.inputs[1], "Expand");
  if (expand == nullptr || node.attributes.Int("axis", 0) != 0) return std::nullopt;
  const ValueId data = node.inputs[0], index = expand->inputs[0], updates = node.inputs[2];
  const SymbolicDims *to = DimsOf(graph, data), *rows = DimsOf(graph, updates),
                     *column = DimsOf(graph, index);
  if (to == nullptr || rows == nullptr || column == nullptr || !HaveSameRows(*to, *rows) ||
      !IsColumn(*column, to->size()) || graph.type(index).dtype != DType::kInt64) {
    return std::nullopt;
  }
  Patch patch(graph);
  const auto constant = [&](std::string_view name, int64_t value) {
    return patch.AddConstant(name, Tensor::Of<int64_t>({1}, {value}));
  };
  // Of one row, the indices may have been expanded to many.
  const ValueId count =
      patch.AddNode("Shape", {updates}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  const ValueId flat = patch.AddNode("Reshape", {index, constant("flat", -1)});
  const ValueId each = patch.AddNode("Expand", {flat, count});
  const ValueId indices = patch.AddNode("Unsqueeze", {each, constant("axis", 1)});
  Attributes attributes;
  if (node.attributes.Has("reduction"))
    attributes.Set("reduction", node.attributes.map().at("reduction"));
  patch.Replace(node.outputs[0],
                patch.AddNode("ScatterND", {data, indices, updates}, std::move(attributes)));
  return patch;
}

constexpr Rule kRules[] = {{"scatter_rows", "ScatterElements", Rows}};

}  // namespace

absl::StatusOr<int> ScatterRows(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
