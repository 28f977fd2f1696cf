#include "training/tied_weights.h"

#include <algorithm>

#include "graph/base/dtype.h"
#include "graph/base/name_pattern.h"
#include "graph/builder/functions.h"

namespace onward {
namespace {

bool IsOp(const Node& node, const char* op) { return node.domain.empty() && node.op_type == op; }

bool IsMatrix(const Graph& graph, ValueId id) {
  return graph.is_constant(id) && !graph.is_input(id) && !graph.is_output(id) &&
         IsFloating(graph.constant(id)->dtype()) && graph.constant(id)->dims().size() == 2;
}

bool IsEmbedding(const Graph& graph, ValueId id) {
  const std::vector<NodeId>& users = graph.users(id);
  return std::any_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    return IsOp(node, "Gather") && node.inputs[0] == id && node.attributes.Int("axis", 0) == 0;
  });
}

bool OnlyMultiplies(const Graph& graph, ValueId id) {
  const std::vector<NodeId>& users = graph.users(id);
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    return IsOp(node, "MatMul") && node.inputs[1] == id && node.inputs[0] != id;
  });
}

bool IsTranspose(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims()[0] != b.dims()[1] || a.dims()[1] != b.dims()[0] ||
      a.num_elements() < 2)
    return false;
  const int64_t rows = a.dims()[0], columns = a.dims()[1];
  const size_t size = static_cast<size_t>(a.byte_size()) / static_cast<size_t>(a.num_elements());
  const auto* x = static_cast<const char*>(a.raw_data());
  const auto* y = static_cast<const char*>(b.raw_data());
  bool all_equal = true;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const char* element = x + static_cast<size_t>(i * columns + j) * size;
      if (!std::equal(element, element + size, y + static_cast<size_t>(j * rows + i) * size))
        return false;
      all_equal = all_equal && std::equal(element, element + size, x);
    }
  }
  return !all_equal;
}

}  // namespace

std::vector<TiedWeight> TieTransposedWeights(Graph& graph, std::vector<std::string>& initializers,
                                             absl::Span<const std::string> untied) {
  std::vector<ValueId> embeddings, heads;
  for (const std::string& name : initializers) {
    const ValueId id = graph.FindValue(name);
    if (!IsMatrix(graph, id) || MatchesAny(name, untied)) continue;
    if (IsEmbedding(graph, id)) embeddings.push_back(id);
    if (OnlyMultiplies(graph, id)) heads.push_back(id);
  }
  std::vector<TiedWeight> tied;
  for (const ValueId head : heads) {
    const auto embedding =
        std::find_if(embeddings.begin(), embeddings.end(), [&](ValueId candidate) {
          return IsTranspose(*graph.constant(head), *graph.constant(candidate));
        });
    if (embedding == embeddings.end()) continue;
    GraphSink sink(graph, "tied/");
    const Expr turned = Transpose(sink.Value(*embedding), {1, 0});
    graph.ReplaceUses(head, turned.id());
    const std::string name = graph.value(head).name;
    std::erase(initializers, name);
    tied.push_back({name, graph.value(*embedding).name});
  }
  return tied;
}

}  // namespace onward
