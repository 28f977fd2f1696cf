#include "executors/plan/place.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executors/plan/dim_arithmetic.h"
#include "executors/plan/sides.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

bool IsCopy(const Node& node) { return node.Is("Copy", kOnwardDomain); }

// Carries out what DecideSides decided for a graph, its bodies included.
class Placer {
 public:
  Placer(Graph& graph, const GraphSides& sides, const ExecutionProvider& device)
      : graph_(graph),
        sides_(sides),
        device_(device),
        on_device_(static_cast<size_t>(graph.num_values()), false) {}

  // `inputs`: and captures behind them.
  absl::Status Run(const std::vector<Side>& inputs, const std::vector<Side>& outputs) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.TopologicalOrder());
    std::vector<ValueId> ids = graph_.inputs();
    ids.insert(ids.end(), graph_.captures().begin(), graph_.captures().end());
    for (size_t i = 0; i < ids.size(); ++i)
      if (inputs[i] == Side::kDevice) MarkOnDevice(ids[i]);
    for (const NodeId id : order) ONWARD_RETURN_IF_ERROR(PlaceNode(id));
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const ValueId output = graph_.outputs()[i];
      const bool on_device = outputs[i] == Side::kDevice;
      if (IsOnDevice(output) != on_device)
        GraphEdit(graph_).SetOutput(static_cast<int>(i), CopiedOutput(output, on_device));
    }
    return absl::OkStatus();
  }

 private:
  bool IsOnDevice(ValueId id) const { return on_device_[static_cast<size_t>(id.index)]; }

  void MarkOnDevice(ValueId id) {
    on_device_[static_cast<size_t>(id.index)] = true;
    GraphEdit(graph_).metadata(id)[kDeviceKey] = std::string(device_.name());
  }

  absl::Status PlaceNode(NodeId id) {
    const NodeSides& sides = sides_.nodes[static_cast<size_t>(id.index)];
    GraphEdit(graph_).node(id).provider =
        sides.node == Side::kDevice ? std::string(device_.name()) : "cpu";
    // Copied() adds nodes, which moves those that are there.
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!IsMoved(graph_, inputs[i]) || sides.inputs[i] == Side::kEither) continue;
      GraphEdit(graph_).SetInput(id, static_cast<int>(i),
                                 On(inputs[i], sides.inputs[i] == Side::kDevice));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].valid())
        on_device_[static_cast<size_t>(outputs[i].index)] = sides.outputs[i] == Side::kDevice;
    }
    for (size_t b = 0; b < graph_.node(id).subgraphs.size(); ++b) {
      std::vector<Side> captures(graph_.node(id).subgraphs[b].captures.size(), Side::kHost);
      if (!sides.bodies.empty()) {
        ONWARD_RETURN_IF_ERROR(PlaceBody(id, b, sides.bodies[b]));
        captures = sides.bodies[b].captures;
      }
      for (size_t c = 0; c < captures.size(); ++c) Feed(id, b, c, captures[c] == Side::kDevice);
    }
    return absl::OkStatus();
  }

  absl::Status PlaceBody(NodeId id, size_t b, const BodySides& sides) {
    Graph& body = *GraphEdit(graph_).node(id).subgraphs[b].graph;
    std::vector<Side> inputs = sides.inputs;
    inputs.insert(inputs.end(), sides.captures.begin(), sides.captures.end());
    ONWARD_RETURN_IF_ERROR(Placer(body, sides.graph, device_).Run(inputs, sides.outputs));
    for (const NodeId copy : body.node_ids()) {
      if (IsCopy(body.node(copy))) CopyOutside(id, b, copy);
    }
    return absl::OkStatus();
  }

  // Captures a value that the body would copy from one side to the other in each turn once more,
  // as a copy.
  void CopyOutside(NodeId id, size_t b, NodeId copy_node) {
    Subgraph& subgraph = GraphEdit(graph_).node(id).subgraphs[b];
    Graph& body = *subgraph.graph;
    const ValueId inside = body.node(copy_node).inputs[0], copy = body.node(copy_node).outputs[0];
    const auto found = std::find(body.captures().begin(), body.captures().end(), inside);
    if (found == body.captures().end()) return;
    const auto at = static_cast<size_t>(found - body.captures().begin());
    const bool to_device = body.node(copy_node).attributes.String("to") != "cpu";
    const ValueId captured = GraphEdit(body).AddCapture(
        body.UniqueName(absl::StrCat(body.value(copy).name, "_outside")), body.type(copy));
    if (to_device) GraphEdit(body).metadata(captured)[kDeviceKey] = std::string(device_.name());
    GraphEdit(body).ReplaceUses(copy, captured);
    GraphEdit(body).RemoveNode(copy_node);
    // The node reads the value already; Feed puts the copy in its place.
    subgraph.captures.push_back(subgraph.captures[at]);
    Feed(id, b, subgraph.captures.size() - 1, to_device);
  }

  // Gives capture `c` of body `b` the value that it has, from one of the sides.
  void Feed(NodeId id, size_t b, size_t c, bool from_device) {
    const ValueId value = graph_.node(id).subgraphs[b].captures[c];
    const ValueId fed = On(value, from_device);  // moves the nodes
    if (fed != value)
      GraphEdit(graph_).SetCapture(id, static_cast<int>(b), static_cast<int>(c), fed);
  }

  // The value, or its copy on the other side, which is made once.
  ValueId On(ValueId value, bool device) {
    if (IsOnDevice(value) == device) return value;
    const auto [it, inserted] = copies_.try_emplace({value.index, device});
    if (inserted)
      it->second =
          AddCopy(value, graph_.value(value).name + (device ? "/on_device" : "/on_host"), device);
    return it->second;
  }

  ValueId AddCopy(ValueId value, const std::string& name, bool to_device) {
    const ValueId copy = GraphEdit(graph_).AddValue(graph_.UniqueName(name), graph_.type(value));
    Node node;
    node.schema = onnx::OpSchemaRegistry::Schema("Copy", 1, kOnwardDomain);
    node.domain = kOnwardDomain;
    node.op_type = "Copy";
    node.name = graph_.value(copy).name;
    node.inputs = {value};
    node.outputs = {copy};
    node.attributes.Set("to", to_device ? std::string(device_.name()) : std::string("cpu"));
    node.provider = std::string(device_.name());
    GraphEdit(graph_).AddNode(std::move(node));
    on_device_.resize(static_cast<size_t>(graph_.num_values()), false);
    on_device_[static_cast<size_t>(copy.index)] = to_device;
    return copy;
  }

  // The graph output keeps its name: the value that is copied is renamed.
  ValueId CopiedOutput(ValueId output, bool to_device) {
    const char *here = "/on_host", *there = "/on_device";
    if (to_device) std::swap(here, there);
    const ValueId copy = AddCopy(output, graph_.value(output).name + here, to_device);
    GraphEdit(graph_).MoveName(output, copy, there);
    return copy;
  }

  Graph& graph_;
  const GraphSides& sides_;
  const ExecutionProvider& device_;
  std::vector<bool> on_device_;  // by ValueId
  std::map<std::pair<int32_t, bool>, ValueId> copies_;
};

// Bodies have the constants that they capture as their own: a program gives its constants to each
// side.
void SinkConstants(Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    for (size_t b = 0; b < graph.node(id).subgraphs.size(); ++b) {
      Subgraph& subgraph = GraphEdit(graph).node(id).subgraphs[b];
      Graph& body = *subgraph.graph;
      for (int c = static_cast<int>(subgraph.captures.size()) - 1; c >= 0; --c) {
        const ValueId outer = subgraph.captures[static_cast<size_t>(c)];
        if (IsMoved(graph, outer)) continue;
        const ValueId inner = body.captures()[static_cast<size_t>(c)];
        const std::string name = body.UniqueName(absl::StrCat(body.value(inner).name, "_local"));
        GraphEdit(body).ReplaceUses(inner,
                                    GraphEdit(body).AddConstant(name, *graph.constant(outer)));
        GraphEdit(graph).RemoveCapture(id, static_cast<int>(b), c);
      }
      SinkConstants(body);
    }
  }
}

}  // namespace

absl::Status Place(Graph& graph, const ExecutionProvider& device, const KernelOptions& options,
                   const std::vector<std::string>& device_values) {
  const std::set<std::string> there(device_values.begin(), device_values.end());
  const auto sides_of = [&](const std::vector<ValueId>& ids) {
    std::vector<Side> sides;
    for (const ValueId id : ids)
      sides.push_back(there.contains(graph.value(id).name) ? Side::kDevice : Side::kHost);
    return sides;
  };
  SinkConstants(graph);
  const std::vector<Side> inputs = sides_of(graph.inputs());
  ONWARD_ASSIGN_OR_RETURN(const GraphSides sides, DecideSides(graph, inputs, device, options));
  return Placer(graph, sides, device).Run(inputs, sides_of(graph.outputs()));
}

}  // namespace onward::executors
