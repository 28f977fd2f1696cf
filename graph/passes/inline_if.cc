// An If whose condition is constant becomes the nodes of the branch that it takes.
#include <memory>
#include <unordered_map>

#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"
#include "onward/status.h"

namespace onward {

namespace {

// Copies the body's parts into the patch; returns the outer ids of the body's outputs.
class BodyCopy {
 public:
  BodyCopy(const Subgraph& body, Patch& patch) : body_(*body.graph), patch_(patch) {
    for (size_t i = 0; i < body.captures.size(); ++i) {
      outer_[body_.captures()[i].index] = body.captures[i];
    }
  }

  absl::Status CopyNodes() {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, body_.TopologicalOrder());
    for (NodeId id : order) CopyNode(body_.node(id));
    return absl::OkStatus();
  }

  ValueId Outer(ValueId inner) {
    if (!inner.valid()) return inner;
    const auto it = outer_.find(inner.index);
    if (it != outer_.end()) return it->second;
    const Tensor* constant = body_.constant(inner);
    if (constant == nullptr) return {};
    return outer_[inner.index] = patch_.AddConstant(body_.value(inner).name, *constant);
  }

 private:
  void CopyNode(const Node& from) {
    Node to = from.WithoutSubgraphs();
    to.outputs.clear();
    to.origin.clear();
    for (ValueId& input : to.inputs) input = Outer(input);
    for (const Subgraph& subgraph : from.subgraphs) {
      Subgraph& copy = to.subgraphs.emplace_back();
      copy.attribute = subgraph.attribute;
      copy.graph = std::make_unique<Graph>(*subgraph.graph);
      for (ValueId capture : subgraph.captures) copy.captures.push_back(Outer(capture));
    }
    const std::vector<ValueId> outputs =
        patch_.AddNodeWithOutputs(std::move(to), static_cast<int>(from.outputs.size()));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (from.outputs[i].valid()) outer_[from.outputs[i].index] = outputs[i];
    }
  }

  const Graph& body_;
  Patch& patch_;
  std::unordered_map<int32_t, ValueId> outer_;
};

std::optional<Patch> InlineIf(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  const std::optional<double> condition = ScalarValue(graph, node.inputs[0]);
  if (!condition) return std::nullopt;
  const Subgraph* body = node.FindSubgraph(*condition != 0 ? "then_branch" : "else_branch");
  if (body == nullptr || body->graph->outputs().size() != node.outputs.size()) return std::nullopt;
  Patch patch(graph);
  BodyCopy copy(*body, patch);
  if (!copy.CopyNodes().ok()) return std::nullopt;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    const ValueId result = copy.Outer(body->graph->outputs()[i]);
    if (!result.valid()) return std::nullopt;
    patch.Replace(node.outputs[i], result);
  }
  return patch;
}

constexpr Rule kRules[] = {{"inline_if", "If", InlineIf}};

}  // namespace

absl::StatusOr<int> InlineConstantIf(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
