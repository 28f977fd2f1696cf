#include "executors/plan/control_sides.h"

#include <algorithm>
#include <utility>

namespace onward::executors {
namespace {

// Kernels say of 64 inputs and outputs on which side they lie.
constexpr size_t kMostValues = 64;

bool MayLieOnDevice(const Type& type) {
  return type.is_tensor() && type.dtype != DType::kString && type.dtype != DType::kUndefined;
}

bool MayLieOnDevice(const Graph& graph, ValueId id) {
  return !id.valid() || MayLieOnDevice(graph.type(id));
}

// Turns take values apart, and put them together, in whole bytes.
bool MayBeStackedOnDevice(const Graph& graph, ValueId id) {
  return MayLieOnDevice(graph, id) && (!id.valid() || !IsSubByte(graph.type(id).dtype));
}

Side SideOf(const Graph& graph, const GraphSides& sides, ValueId id) {
  return IsMoved(graph, id) ? sides.values[static_cast<size_t>(id.index)] : Side::kEither;
}

struct Readers {
  bool on_host = false, on_device = false;
};

Readers ReadersOf(const Graph& graph, const GraphSides& sides, ValueId id) {
  Readers readers;
  const auto note = [&](Side side) {
    readers.on_host |= side == Side::kHost;
    readers.on_device |= side == Side::kDevice;
  };
  for (const NodeId user : graph.users(id)) {
    const Node& node = graph.node(user);
    const NodeSides& of_user = sides.nodes[static_cast<size_t>(user.index)];
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] == id) note(of_user.inputs[i]);
    for (size_t b = 0; b < node.subgraphs.size(); ++b) {
      const std::vector<ValueId>& captures = node.subgraphs[b].captures;
      for (size_t c = 0; c < captures.size(); ++c) {
        if (captures[c] != id) continue;
        note(of_user.bodies.empty() ? Side::kHost : of_user.bodies[b].captures[c]);
      }
    }
  }
  return readers;
}

class ControlSides {
 public:
  ControlSides(const Graph& graph, const Node& node, const ControlFlow& control,
               const GraphSides& outer, std::vector<GraphSides> bodies)
      : graph_(graph), node_(node), control_(control), outer_(outer) {
    sides_.node = Side::kDevice;
    sides_.inputs.resize(node.inputs.size(), Side::kHost);
    sides_.outputs.resize(node.outputs.size(), Side::kHost);
    for (size_t b = 0; b < bodies.size(); ++b) {
      const Graph& body = *node.subgraphs[b].graph;
      sides_.bodies.push_back({std::move(bodies[b]),
                               std::vector<Side>(body.inputs().size(), Side::kHost),
                               std::vector<Side>(body.captures().size(), Side::kHost),
                               std::vector<Side>(body.outputs().size(), Side::kHost)});
    }
  }

  NodeSides Decide(const std::set<int>& known) {
    for (int k = 0; k < control_.carried; ++k) {
      if (!known.contains(k)) DecideCarried(static_cast<size_t>(k));
    }
    for (int k = 0; k < control_.scanned; ++k) DecideScanned(static_cast<size_t>(k));
    const size_t results = sides_.bodies[0].outputs.size();
    const auto first = static_cast<size_t>(control_.first_result);
    for (size_t i = first + static_cast<size_t>(control_.carried); i < results; ++i)
      DecideResult(i);
    for (size_t b = 0; b < sides_.bodies.size(); ++b) DecideCaptures(b);
    return std::move(sides_);
  }

 private:
  // Where an input or capture of a body is read, or else where it comes from.
  static Side Wanted(const Readers& readers, Side outer) {
    if (readers.on_device != readers.on_host)
      return readers.on_device ? Side::kDevice : Side::kHost;
    return outer == Side::kDevice ? Side::kDevice : Side::kHost;
  }

  // One side for all turns: the device's where a turn reads or makes the value there.
  void DecideCarried(size_t k) {
    const Graph& body = *node_.subgraphs[0].graph;
    BodySides& of_body = sides_.bodies[0];
    const size_t input = static_cast<size_t>(control_.first_carried) + k;
    const size_t result = static_cast<size_t>(control_.first_result) + k;
    const bool has_output = k < node_.outputs.size();
    if (!MayLieOnDevice(graph_, node_.inputs[input]) ||
        !MayLieOnDevice(body, body.inputs()[input]) ||
        !MayLieOnDevice(body, body.outputs()[result]) ||
        (has_output && !MayLieOnDevice(graph_, node_.outputs[k])))
      return;
    const Readers readers = ReadersOf(body, of_body.graph, body.inputs()[input]);
    const Side made = SideOf(body, of_body.graph, body.outputs()[result]);
    Side side = made == Side::kHost && !readers.on_device ? Side::kHost : Side::kDevice;
    if (made == Side::kEither && !readers.on_device)
      side = Wanted(readers, SideOf(graph_, outer_, node_.inputs[input]));
    sides_.inputs[input] = of_body.inputs[input] = of_body.outputs[result] = side;
    if (has_output) sides_.outputs[k] = side;
  }

  void DecideScanned(size_t k) {
    const Graph& body = *node_.subgraphs[0].graph;
    const size_t input = static_cast<size_t>(control_.first_carried + control_.carried) + k;
    if (!MayBeStackedOnDevice(graph_, node_.inputs[input])) return;
    const Readers readers = ReadersOf(body, sides_.bodies[0].graph, body.inputs()[input]);
    sides_.inputs[input] = sides_.bodies[0].inputs[input] =
        Wanted(readers, SideOf(graph_, outer_, node_.inputs[input]));
  }

  // A result that is stacked, or a branch's: on the device where it is made there.
  void DecideResult(size_t result) {
    const size_t output = result - static_cast<size_t>(control_.first_result);
    const bool has_output = output < node_.outputs.size();
    bool made_there = false;
    bool may = !has_output || MayBeStackedOnDevice(graph_, node_.outputs[output]);
    for (size_t b = 0; b < sides_.bodies.size(); ++b) {
      const Graph& body = *node_.subgraphs[b].graph;
      if (result >= body.outputs().size()) return;
      may &= MayBeStackedOnDevice(body, body.outputs()[result]);
      made_there |= SideOf(body, sides_.bodies[b].graph, body.outputs()[result]) == Side::kDevice;
    }
    if (!may || !made_there) return;
    for (BodySides& of_body : sides_.bodies) of_body.outputs[result] = Side::kDevice;
    if (has_output) sides_.outputs[output] = Side::kDevice;
  }

  void DecideCaptures(size_t b) {
    const Subgraph& subgraph = node_.subgraphs[b];
    for (size_t c = 0; c < subgraph.captures.size(); ++c) {
      if (!MayLieOnDevice(graph_, subgraph.captures[c])) continue;
      const Readers readers =
          ReadersOf(*subgraph.graph, sides_.bodies[b].graph, subgraph.graph->captures()[c]);
      sides_.bodies[b].captures[c] = Wanted(readers, SideOf(graph_, outer_, subgraph.captures[c]));
    }
  }

  const Graph& graph_;
  const Node& node_;
  const ControlFlow& control_;
  const GraphSides& outer_;
  NodeSides sides_;
};

}  // namespace

std::optional<ControlFlow> ControlFlowOf(const Node& node) {
  if (!node.domain.empty() || node.inputs.size() > kMostValues || node.outputs.size() > kMostValues)
    return std::nullopt;
  const auto inputs = static_cast<int>(node.inputs.size());
  if (node.op_type == "If") return ControlFlow();
  if (node.subgraphs.size() != 1) return std::nullopt;
  const Graph& body = *node.subgraphs[0].graph;
  ControlFlow control;
  if (node.op_type == "Loop") {
    control = {2, std::max(0, inputs - 2), 0, 1, true};
  } else if (node.op_type == "Scan") {
    const auto scanned = static_cast<int>(node.attributes.Int("num_scan_inputs", 0));
    control = {0, inputs - scanned, scanned, 0, false};
  } else {
    return std::nullopt;
  }
  // The kernel refuses what does not fit.
  const bool fits =
      control.carried >= 0 && control.scanned >= 0 && inputs >= control.first_carried &&
      static_cast<int>(body.inputs().size()) == inputs &&
      static_cast<int>(body.outputs().size()) >= control.first_result + control.carried;
  return fits ? std::optional(control) : std::nullopt;
}

std::set<int> CarriedThatMayBeKnown(const Graph& graph, const Node& node,
                                    const ControlFlow& control, const DimArithmetic& of_dims) {
  std::set<int> known;
  for (int k = 0; k < control.carried; ++k) {
    const auto input = static_cast<size_t>(control.first_carried + k);
    const Graph& body = *node.subgraphs[0].graph;
    const ValueId initial = node.inputs[input];
    const Type& type = body.type(body.inputs()[input]);
    if (!initial.valid() || !type.is_tensor() || IsFloating(type.dtype) || !IsSmall(type)) continue;
    if (!IsMoved(graph, initial) || of_dims.Includes(initial)) known.insert(k);
  }
  return known;
}

std::set<int32_t> KnownInBody(const Subgraph& subgraph, const ControlFlow& control,
                              const std::set<int>& carried, const DimArithmetic& of_dims) {
  std::set<int32_t> known;
  const Graph& body = *subgraph.graph;
  const auto add_input = [&](int input) {
    known.insert(body.inputs()[static_cast<size_t>(input)].index);
  };
  if (control.is_loop) {
    add_input(0);
    add_input(1);
  }
  for (const int k : carried) add_input(control.first_carried + k);
  for (size_t c = 0; c < subgraph.captures.size(); ++c) {
    if (of_dims.Includes(subgraph.captures[c])) known.insert(body.captures()[c].index);
  }
  return known;
}

bool StaysKnown(const Graph& body, const GraphSides& sides, const ControlFlow& control,
                int carried) {
  const ValueId result = body.outputs()[static_cast<size_t>(control.first_result + carried)];
  return !IsMoved(body, result) || sides.known[static_cast<size_t>(result.index)];
}

std::vector<Side> BordersOf(const Node& node, const Subgraph& subgraph, const ControlFlow& control,
                            const GraphSides& outer) {
  std::vector<Side> borders;
  const auto outer_side = [&](ValueId id) {
    return id.valid() ? outer.values[static_cast<size_t>(id.index)] : Side::kHost;
  };
  for (size_t i = 0; i < subgraph.graph->inputs().size(); ++i) {
    const bool is_turn = static_cast<int>(i) < control.first_carried;
    borders.push_back(is_turn || i >= node.inputs.size() ? Side::kHost
                                                         : outer_side(node.inputs[i]));
  }
  for (const ValueId capture : subgraph.captures) borders.push_back(outer_side(capture));
  return borders;
}

NodeSides SidesOfControlFlow(const Graph& graph, const Node& node, const ControlFlow& control,
                             const GraphSides& outer, std::vector<GraphSides> bodies,
                             const std::set<int>& known) {
  return ControlSides(graph, node, control, outer, std::move(bodies)).Decide(known);
}

}  // namespace onward::executors
