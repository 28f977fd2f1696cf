// Constants that a body captures become constants of the body, so that rules and kernels see them
// there. The data is shared.
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

constexpr int64_t kSmallBytes = 1024;

int Sink(Graph& graph, int64_t max_bytes, int& budget);

int SinkInto(Graph& graph, NodeId id, int s, int64_t max_bytes, int& budget) {
  int sunk = 0;
  Graph& body = *GraphEdit(graph).node(id).subgraphs[static_cast<size_t>(s)].graph;
  for (int c = static_cast<int>(body.captures().size()) - 1; c >= 0 && budget > 0; --c) {
    const ValueId outer =
        graph.node(id).subgraphs[static_cast<size_t>(s)].captures[static_cast<size_t>(c)];
    const Tensor* constant = FixedConstant(graph, outer);
    if (constant == nullptr || constant->byte_size() > max_bytes) continue;
    const ValueId inner = body.captures()[static_cast<size_t>(c)];
    if (body.is_output(inner)) continue;
    const std::string name = body.UniqueName(absl::StrCat(body.value(inner).name, "_local"));
    GraphEdit(body).ReplaceUses(inner, GraphEdit(body).AddConstant(name, *constant));
    GraphEdit(graph).RemoveCapture(id, s, c);
    --budget;
    ++sunk;
  }
  return sunk + Sink(body, max_bytes, budget);
}

int Sink(Graph& graph, int64_t max_bytes, int& budget) {
  int sunk = 0;
  for (NodeId id : graph.node_ids()) {
    const int bodies = static_cast<int>(graph.node(id).subgraphs.size());
    for (int s = 0; s < bodies; ++s) sunk += SinkInto(graph, id, s, max_bytes, budget);
  }
  return sunk;
}

}  // namespace

absl::StatusOr<int> SinkSmallConstants(Graph& graph, const PassOptions&, int& budget) {
  return Sink(graph, kSmallBytes, budget);
}

absl::StatusOr<int> SinkConstants(Graph& graph, const PassOptions&, int& budget) {
  return Sink(graph, std::numeric_limits<int64_t>::max(), budget);
}

}  // namespace onward
