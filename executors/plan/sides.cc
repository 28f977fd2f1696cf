#include "executors/plan/sides.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "executors/plan/choose_kernel.h"
#include "executors/plan/control_sides.h"
#include "executors/plan/dim_arithmetic.h"
#include "executors/plan/keep_on_host.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

class Decider {
 public:
  Decider(const ExecutionProvider& device, const KernelOptions& options)
      : device_(device), options_(options) {}

  // `borders`: where inputs and captures lie. `known`: those that follow from dims.
  absl::StatusOr<GraphSides> Decide(const Graph& graph, const std::vector<Side>& borders,
                                    std::set<int32_t> known) {
    GraphSides sides;
    sides.nodes.resize(static_cast<size_t>(graph.num_nodes()));
    sides.values.resize(static_cast<size_t>(graph.num_values()), Side::kEither);
    size_t border = 0;
    for (const auto& ids : {graph.inputs(), graph.captures()}) {
      for (const ValueId id : ids) sides.values[static_cast<size_t>(id.index)] = borders[border++];
    }
    DimArithmetic of_dims(graph, std::move(known));
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
    for (const NodeId id : order) {
      const Node& node = graph.node(id);
      NodeSides& of_node = sides.nodes[static_cast<size_t>(id.index)];
      ONWARD_ASSIGN_OR_RETURN(of_node, OfNode(graph, id, sides, of_dims));
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].valid())
          sides.values[static_cast<size_t>(node.outputs[i].index)] = of_node.outputs[i];
      }
    }
    KeepOnHost(graph, order, sides);
    sides.on_device = std::any_of(order.begin(), order.end(), [&](NodeId id) {
      return sides.nodes[static_cast<size_t>(id.index)].node == Side::kDevice;
    });
    for (size_t i = 0; i < sides.values.size(); ++i)
      sides.known.push_back(of_dims.Includes(ValueId{static_cast<int32_t>(i)}));
    return sides;
  }

 private:
  absl::StatusOr<NodeSides> OfNode(const Graph& graph, NodeId id, const GraphSides& outer,
                                   DimArithmetic& of_dims) {
    const Node& node = graph.node(id);
    if (of_dims.Includes(node)) {
      of_dims.Add(node);
      return OnHost(node);
    }
    if (node.subgraphs.empty()) return OfKernel(graph, id);
    const std::optional<ControlFlow> control = ControlFlowOf(node);
    if (!control) return OnHost(node);
    return OfControlFlow(graph, id, *control, outer, of_dims);
  }

  // By the device's kernels, which are asked once.
  absl::StatusOr<NodeSides> OfKernel(const Graph& graph, NodeId id) {
    const auto [found, is_new] = of_kernels_.try_emplace({&graph, id.index});
    if (!is_new) return found->second;
    const Node& node = graph.node(id);
    NodeSides sides = OnHost(node);
    NodeSpec spec(graph, id, options_);
    ONWARD_ASSIGN_OR_RETURN(const KernelChoice choice, ChooseKernel(device_, spec, false));
    if (choice.kernel != nullptr) {
      sides.node = Side::kDevice;
      const auto fill = [](std::vector<Side>& all, uint64_t host) {
        for (size_t i = 0; i < all.size(); ++i) {
          const bool on_host = i < 64 && (host >> i & 1);
          if (all[i] != Side::kEither) all[i] = on_host ? Side::kHost : Side::kDevice;
        }
      };
      fill(sides.inputs, choice.kernel->host_inputs());
      fill(sides.outputs, choice.kernel->host_outputs());
    }
    found->second = sides;
    return sides;
  }

  absl::StatusOr<NodeSides> OfControlFlow(const Graph& graph, NodeId id, const ControlFlow& control,
                                          const GraphSides& outer, const DimArithmetic& of_dims) {
    const Node& node = graph.node(id);
    std::set<int> known = CarriedThatMayBeKnown(graph, node, control, of_dims);
    std::vector<GraphSides> bodies;
    // A carried value that one turn does not give as dims is a value like others in all turns.
    for (bool holds = false; !holds;) {
      bodies.clear();
      for (const Subgraph& subgraph : node.subgraphs) {
        ONWARD_ASSIGN_OR_RETURN(GraphSides body,
                                Decide(*subgraph.graph, BordersOf(node, subgraph, control, outer),
                                       KnownInBody(subgraph, control, known, of_dims)));
        bodies.push_back(std::move(body));
      }
      holds = std::erase_if(known, [&](int carried) {
                return !StaysKnown(*node.subgraphs[0].graph, bodies[0], control, carried);
              }) == 0;
    }
    const bool on_device = std::any_of(bodies.begin(), bodies.end(),
                                       [](const GraphSides& body) { return body.on_device; });
    if (!on_device) return OnHost(node);
    return SidesOfControlFlow(graph, node, control, outer, std::move(bodies), known);
  }

  const ExecutionProvider& device_;
  const KernelOptions& options_;
  std::map<std::pair<const Graph*, int32_t>, NodeSides> of_kernels_;
};

}  // namespace

absl::StatusOr<GraphSides> DecideSides(const Graph& graph, const std::vector<Side>& inputs,
                                       const ExecutionProvider& device,
                                       const KernelOptions& options) {
  return Decider(device, options).Decide(graph, inputs, {});
}

}  // namespace onward::executors
