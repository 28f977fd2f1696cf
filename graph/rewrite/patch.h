// A patch is a labelled value: new constants and nodes, and which old values they replace. Apply is
// the one way in which a graph changes after import.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/graph.h"

namespace onward {

class Patch {
 public:
  // `graph` must outlive the patch and not change until it is applied.
  Patch(std::string label, const Graph& graph) : label_(std::move(label)), graph_(graph) {}

  const std::string& label() const { return label_; }
  const Graph& graph() const { return graph_; }

  // New values have provisional ids that the patch's own nodes may read; types are inferred by
  // Apply.
  ValueId AddConstant(std::string_view name, Tensor data);
  // One output unless said otherwise. `op` is of ai.onnx unless `domain` says otherwise.
  ValueId AddNode(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {},
                  std::string_view domain = "");
  std::vector<ValueId> AddNodeWithOutputs(Node node, int num_outputs);
  // Uses of `from` become uses of `to` (old or new). Types must be compatible; a graph output keeps
  // its name.
  void Replace(ValueId from, ValueId to) { replaced_.emplace_back(from, to); }
  // Nodes to remove although something could still read them; others fall when nothing reads their
  // outputs any more.
  void Remove(NodeId id) { removed_.push_back(id); }

 private:
  friend absl::Status Apply(Graph& graph, Patch patch);

  std::string label_;
  const Graph& graph_;
  std::vector<ValueData> values_;  // provisional id = graph_.num_values() + index
  std::vector<Node> nodes_;
  std::vector<std::pair<ValueId, ValueId>> replaced_;
  std::vector<NodeId> removed_;
};

// Checks, then applies: infers the types of new nodes, refuses a replacement of another type
// (Internal, names the label), keeps output names, records the label as the new nodes' origin,
// removes replaced nodes that nothing reads.
absl::Status Apply(Graph& graph, Patch patch);

}  // namespace onward
