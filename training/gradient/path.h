// Which values lie on paths from what is differentiated for to what is differentiated.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::gradient {

// True if values of the type can have a gradient: floats, and sequences and optionals of them.
bool IsDifferentiable(const Type& type);

// The node's inputs, then the captures of its subgraphs, one subgraph after the other.
std::vector<ValueId> Operands(const Node& node);

// By value index. Gradients flow through differentiable values and through nodes whose op has one
// by its nature.
struct Paths {
  std::vector<bool> active;  // depends on a source, or is one
  std::vector<bool> useful;  // a target depends on it, or it is one

  bool on_path(ValueId id) const {
    const auto i = static_cast<size_t>(id.index);
    return i < active.size() && active[i] && useful[i];
  }
  // Returns whether a gradient must pass through the node.
  bool through(const Node& node) const;
};

// `order`: the nodes in topological order. No gradient passes what `stop_at` names.
Paths FindPaths(const Graph& graph, absl::Span<const NodeId> order,
                absl::Span<const ValueId> sources, absl::Span<const ValueId> targets,
                absl::Span<const ValueId> stop_at);

// A shortest path from a source through the node to a target: "x -> h -> [Det 'd'] -> y", with
// what is far from both ends and the node left out.
std::string DescribePath(const Graph& graph, NodeId through, const Paths& paths,
                         absl::Span<const ValueId> sources, absl::Span<const ValueId> targets);

}  // namespace onward::gradient
