// A patch is a labelled value: new constants and nodes, and which old values they replace. It is
// the edit that keeps what a graph computes, and the one that passes use.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward {

class Patch {
 public:
  // `graph` must outlive the patch and not change until it is applied.
  Patch(std::string label, const Graph& graph)
      : label_(std::move(label)), graph_(&graph), first_value_(graph.num_values()) {}
  // A rule's patch: the driver labels it "rule @ node".
  explicit Patch(const Graph& graph) : Patch("", graph) {}

  const std::string& label() const { return label_; }
  void set_label(std::string label) { label_ = std::move(label); }
  const Graph& graph() const { return *graph_; }

  // New values have provisional ids that the patch's own nodes may read; types are inferred by
  // Apply. An empty name is made from the first replaced value's.
  ValueId AddConstant(std::string_view name, Tensor data);
  // One output unless said otherwise. `op` is of ai.onnx unless `domain` says otherwise.
  ValueId AddNode(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {},
                  std::string_view domain = "");
  std::vector<ValueId> AddNodeWithOutputs(Node node, int num_outputs);
  // Outputs that are not wanted are omitted.
  std::vector<ValueId> AddNodeWithOutputs(Node node, const std::vector<bool>& wanted);
  // Names the patch's own node that makes `made`; it takes the replaced node's name otherwise.
  void NameNode(ValueId made, std::string name);
  // Uses of `from`, those by the patch's own nodes excepted, become uses of `to` (old or new).
  // Types must be compatible; a graph output keeps its name, behind an Identity where `to` cannot
  // take it (an input, a capture, another output).
  void Replace(ValueId from, ValueId to) { replaced_.emplace_back(from, to); }
  // Nodes to remove although nothing replaces their outputs; nothing may read those. Other nodes
  // fall when nothing reads their outputs any more.
  void Remove(NodeId id) { removed_.push_back(id); }
  const std::vector<std::pair<ValueId, ValueId>>& replaced() const { return replaced_; }
  // Returns whether the patch changes nothing.
  bool empty() const { return nodes_.empty() && replaced_.empty() && removed_.empty(); }

 private:
  friend class PatchApplication;

  std::string label_;
  const Graph* graph_;
  int first_value_;
  std::vector<ValueData> values_;  // provisional id = first_value_ + index
  std::vector<Node> nodes_;
  std::vector<std::pair<ValueId, ValueId>> replaced_;
  std::vector<NodeId> removed_;
};

// Checks, then applies: infers the types of new nodes, refuses a replacement of another type
// (Internal, names the label), keeps output names, records the label and the origins of what fell
// as the new nodes' origin, removes replaced nodes that nothing reads. After an error of a check
// the graph computes what it did before.
absl::Status Apply(Graph& graph, Patch patch);

// Returns whether graph output `from` can be replaced by `to` without an Identity between them.
bool CanTakeOutputName(const Graph& graph, ValueId from, ValueId to);

}  // namespace onward
