#include "graph/passes/elementwise_groups.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "graph/fused/elementwise_steps.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// The room in the arguments of a kernel (kernels/cuda/elementwise_arguments.h), and the length of a
// kernel that is still readable.
constexpr size_t kMostInputs = 12, kMostOutputs = 4, kMostSteps = 32;

bool IsPlain(const Type& type) {
  switch (type.dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
    case DType::kBool:
      return type.is_tensor() && type.shape.has_value();
    default:
      return false;
  }
}

// Returns whether the host computes such a value, if it follows from dims (executors/plan/place).
bool IsSmall(const Type& type) {
  constexpr int64_t kMost = 64;  // elements
  const std::optional<Dims> dims = type.static_dims();
  if (dims) return NumElements(*dims) <= kMost;
  return !type.shape || (!IsFloating(type.dtype) && type.shape->size() <= 1);
}

// The small values that follow from dims and constants alone, which are known before a run.
std::vector<bool> KnownBeforeRun(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<bool> known(static_cast<size_t>(graph.num_values()), false);
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    bool follows = node.subgraphs.empty() && !IsRandom(node);
    for (const ValueId input : node.inputs) {
      follows &= !input.valid() || known[static_cast<size_t>(input.index)] ||
                 FixedConstant(graph, input) != nullptr;
    }
    follows |= node.Is("Shape") || node.Is("Size");
    for (const ValueId output : node.outputs) {
      if (output.valid())
        known[static_cast<size_t>(output.index)] = follows && IsSmall(graph.type(output));
    }
  }
  return known;
}

bool IsOneElement(const Type& type) {
  const std::optional<Dims> dims = type.static_dims();
  return dims && NumElements(*dims) == 1;
}

class Grouper {
 public:
  Grouper(const Graph& graph, const std::vector<NodeId>& order)
      : graph_(graph),
        order_(order),
        known_(KnownBeforeRun(graph, order)),
        position_(static_cast<size_t>(graph.num_nodes()), -1),
        group_(static_cast<size_t>(graph.num_nodes())),
        members_(static_cast<size_t>(graph.num_nodes())) {
    for (size_t i = 0; i < order.size(); ++i) {
      position_[static_cast<size_t>(order[i].index)] = static_cast<int>(i);
      group_[static_cast<size_t>(order[i].index)] = order[i].index;
      members_[static_cast<size_t>(order[i].index)] = {order[i]};
    }
  }

  // The groups of two and more nodes.
  std::vector<ElementwiseGroup> Run() {
    for (const NodeId id : order_) {
      if (!MayJoin(id)) continue;
      const Node& node = graph_.node(id);
      std::set<int> makers;
      for (const ValueId input : node.inputs) {
        const NodeId maker = Maker(graph_, input);
        if (maker.valid() && MayJoin(maker) &&
            (IsOneElement(graph_.type(input)) ||
             SameShape(graph_.type(input), graph_.type(node.outputs[0])))) {
          makers.insert(GroupOf(maker));
        }
      }
      // All at once, since a part of them may have more inputs than all; else one by one.
      if (makers.empty() || Join(makers, id)) continue;
      for (const int maker : makers) Join({maker}, id);
    }
    std::vector<ElementwiseGroup> groups;
    for (const NodeId id : order_) {
      if (GroupOf(id) == id.index && MembersOf(id.index).size() > 1)
        groups.push_back(Describe(MembersOf(id.index)));
    }
    return groups;
  }

 private:
  int GroupOf(NodeId id) const { return group_[static_cast<size_t>(id.index)]; }
  int PositionOf(NodeId id) const { return position_[static_cast<size_t>(id.index)]; }
  std::vector<NodeId>& MembersOf(int group) { return members_[static_cast<size_t>(group)]; }

  bool MayJoin(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!fused::IsElementwise(node.op_type, node.domain, static_cast<size_t>(NumInputs(node))) ||
        node.outputs.size() != 1 || !node.inputs[0].valid() ||
        known_[static_cast<size_t>(node.outputs[0].index)] ||
        !fused::StepText({node.op_type, node.domain, node.attributes, {}})) {
      return false;
    }
    // Their second operand must not change the shape.
    if ((node.Is("PRelu") || node.Is("SwiGLU")) &&
        !SameShape(graph_.type(node.inputs[0]), graph_.type(node.inputs[1]))) {
      return false;
    }
    const auto is_plain = [&](ValueId value) {
      return !value.valid() || IsPlain(graph_.type(value));
    };
    return is_plain(node.outputs[0]) &&
           std::all_of(node.inputs.begin(), node.inputs.end(), is_plain);
  }

  ElementwiseGroup Describe(std::vector<NodeId> nodes) const {
    std::sort(nodes.begin(), nodes.end(),
              [&](NodeId a, NodeId b) { return PositionOf(a) < PositionOf(b); });
    const auto within = [&](NodeId id) {
      return std::find(nodes.begin(), nodes.end(), id) != nodes.end();
    };
    ElementwiseGroup group;
    for (const NodeId id : nodes) {
      for (const ValueId input : graph_.node(id).inputs) {
        const bool listed =
            std::find(group.inputs.begin(), group.inputs.end(), input) != group.inputs.end();
        if (input.valid() && !listed && !within(Maker(graph_, input)))
          group.inputs.push_back(input);
      }
      const ValueId output = graph_.node(id).outputs[0];
      const std::vector<NodeId>& users = graph_.users(output);
      if (graph_.is_output(output) || !std::all_of(users.begin(), users.end(), within))
        group.outputs.push_back(output);
    }
    group.nodes = std::move(nodes);
    return group;
  }

  // Adds the groups to that of the node; returns whether they fit.
  bool Join(std::set<int> groups, NodeId last) {
    groups.insert(GroupOf(last));
    std::vector<NodeId> nodes;
    for (const int group : groups)
      nodes.insert(nodes.end(), MembersOf(group).begin(), MembersOf(group).end());
    if (nodes.size() > kMostSteps) return false;
    const ElementwiseGroup joined = Describe(nodes);
    const auto has_shape = [&](ValueId output) {
      return SameShape(graph_.type(output), graph_.type(graph_.node(last).outputs[0]));
    };
    if (!std::all_of(joined.outputs.begin(), joined.outputs.end(), has_shape)) return false;
    if (joined.inputs.size() > kMostInputs || joined.outputs.size() > kMostOutputs ||
        ComesBack(groups)) {
      return false;
    }
    const int first = *groups.begin();
    for (const int group : groups) MembersOf(group).clear();
    for (const NodeId id : nodes) group_[static_cast<size_t>(id.index)] = first;
    MembersOf(first) = std::move(nodes);
    return true;
  }

  // Returns whether a path leaves the groups and ends in one of them: together they would read what
  // follows from their own results. Groups on the way are passed as one node.
  bool ComesBack(const std::set<int>& groups) {
    int last = -1;
    for (const int group : groups)
      for (const NodeId id : MembersOf(group)) last = std::max(last, PositionOf(id));
    std::vector<int> open;
    std::set<int> seen;
    const auto follow = [&](int from, bool inside) {
      for (const NodeId id : MembersOf(from)) {
        for (const ValueId output : graph_.node(id).outputs) {
          if (!output.valid()) continue;
          for (const NodeId user : graph_.users(output)) {
            if (groups.contains(GroupOf(user))) {
              if (!inside) return true;
            } else if (Begins(GroupOf(user)) <= last && seen.insert(GroupOf(user)).second) {
              open.push_back(GroupOf(user));
            }
          }
        }
      }
      return false;
    };
    for (const int group : groups) follow(group, true);
    while (!open.empty()) {
      const int next = open.back();
      open.pop_back();
      if (follow(next, false)) return true;
    }
    return false;
  }

  // The position of a group's first node.
  int Begins(int group) {
    int first = static_cast<int>(order_.size());
    for (const NodeId id : MembersOf(group)) first = std::min(first, PositionOf(id));
    return first;
  }

  const Graph& graph_;
  const std::vector<NodeId>& order_;
  const std::vector<bool> known_;
  std::vector<int> position_;                 // in `order_`, by node
  std::vector<int> group_;                    // by node: the index of the group's first node
  std::vector<std::vector<NodeId>> members_;  // by that index
};

}  // namespace

std::vector<ElementwiseGroup> FindElementwiseGroups(const Graph& graph,
                                                    const std::vector<NodeId>& order) {
  return Grouper(graph, order).Run();
}

}  // namespace onward
