#include "executors/plan/keep_on_host.h"

#include <algorithm>
#include <vector>

#include "executors/plan/dim_arithmetic.h"
#include "graph/ops/facts.h"

namespace onward::executors {
namespace {

// As what conditions are made of is.
bool IsSmallWhole(const Type& type) {
  return type.is_tensor() && !IsFloating(type.dtype) && IsSmall(type);
}

class HostKeeper {
 public:
  HostKeeper(const Graph& graph, GraphSides& sides)
      : graph_(graph), sides_(sides), of_host_(sides.values.size()), reads_(sides.values.size()) {}

  void Run(absl::Span<const NodeId> order) {
    for (size_t i = 0; i < sides_.values.size(); ++i) {
      const ValueId value{static_cast<int32_t>(i)};
      of_host_[i] = sides_.values[i] == Side::kHost && IsSmallWhole(graph_.type(value));
    }
    for (const NodeId id : order) CountReads(id);
    // They lie where the caller wants them.
    for (const ValueId output : graph_.outputs()) ++ReadsOf(output).on_device;
    std::vector<NodeId> possible;
    for (const NodeId id : order)
      if (MayKeep(id)) possible.push_back(id);
    std::reverse(possible.begin(), possible.end());
    for (const NodeId id : possible) Keep(id);
  }

 private:
  struct Reads {
    int on_host = 0, on_device = 0;
  };

  Reads& ReadsOf(ValueId value) { return reads_[static_cast<size_t>(value.index)]; }
  NodeSides& SidesOf(NodeId id) { return sides_.nodes[static_cast<size_t>(id.index)]; }

  void CountRead(ValueId value, Side side) {
    if (!value.valid() || side == Side::kEither) return;
    ++(side == Side::kHost ? ReadsOf(value).on_host : ReadsOf(value).on_device);
  }

  void CountReads(NodeId id) {
    const Node& node = graph_.node(id);
    const NodeSides& sides = SidesOf(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) CountRead(node.inputs[i], sides.inputs[i]);
    for (size_t b = 0; b < node.subgraphs.size(); ++b) {
      const std::vector<ValueId>& captures = node.subgraphs[b].captures;
      for (size_t c = 0; c < captures.size(); ++c)
        CountRead(captures[c], sides.bodies.empty() ? Side::kHost : sides.bodies[b].captures[c]);
    }
  }

  // Returns whether the host has all that the node reads; its results are the host's then, too.
  bool MayKeep(NodeId id) {
    const Node& node = graph_.node(id);
    const OpFacts* facts = FindFacts(node.op_type, node.domain);
    if (SidesOf(id).node != Side::kDevice || !node.domain.empty() || !node.subgraphs.empty() ||
        (facts != nullptr && facts->random))
      return false;
    for (const ValueId input : node.inputs)
      if (IsMoved(graph_, input) && !of_host_[static_cast<size_t>(input.index)]) return false;
    for (const ValueId output : node.outputs)
      if (output.valid() && !IsSmallWhole(graph_.type(output))) return false;
    for (const ValueId output : node.outputs)
      if (output.valid()) of_host_[static_cast<size_t>(output.index)] = true;
    return true;
  }

  // Readers come before what they read.
  void Keep(NodeId id) {
    const Node& node = graph_.node(id);
    bool is_read = false;
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      if (ReadsOf(output).on_device > 0) return;
      is_read |= ReadsOf(output).on_host > 0;
    }
    if (!is_read) return;
    NodeSides& sides = SidesOf(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (sides.inputs[i] != Side::kDevice || !node.inputs[i].valid()) continue;
      --ReadsOf(node.inputs[i]).on_device;
      ++ReadsOf(node.inputs[i]).on_host;
    }
    sides = OnHost(node);
    for (const ValueId output : node.outputs)
      if (output.valid()) sides_.values[static_cast<size_t>(output.index)] = Side::kHost;
  }

  const Graph& graph_;
  GraphSides& sides_;
  std::vector<char> of_host_;  // by ValueId: the host has it, or would if it kept its node
  std::vector<Reads> reads_;   // by ValueId
};

}  // namespace

NodeSides OnHost(const Node& node) {
  const Side inputs = ReadsDimsOnly(node) ? Side::kEither : Side::kHost;
  return {Side::kHost, std::vector<Side>(node.inputs.size(), inputs),
          std::vector<Side>(node.outputs.size(), Side::kHost), /*bodies=*/{}};
}

void KeepOnHost(const Graph& graph, absl::Span<const NodeId> order, GraphSides& sides) {
  HostKeeper(graph, sides).Run(order);
}

}  // namespace onward::executors
