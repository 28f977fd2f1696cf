// A sum of parts that stand beside each other, each with zeros around it, is their Concat.
// Gradients of slices that take a tensor apart are such sums.
#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// Where a part lies along the one axis on which it has zeros around it.
struct Part {
  ValueId value;
  int64_t axis = 0, begin = 0, end = 0, whole = 0;
};

// The part of a Pad with known zeros before and after along one axis.
std::optional<Part> PartOf(const Graph& graph, const Node& pad) {
  const auto dims = graph.type(pad.inputs[0]).static_dims();
  const auto pads = IntElements(graph, pad.inputs[1]);
  if (!dims || !pads || pad.attributes.String("mode", "constant") != "constant")
    return std::nullopt;
  const ValueId filler = InputOf(pad, 2);
  if (filler.valid() && !IsScalar(graph, filler, 0)) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->size());
  std::vector<int64_t> axes;
  if (InputOf(pad, 3).valid()) {
    const auto given = IntElements(graph, pad.inputs[3]);
    if (!given) return std::nullopt;
    for (const int64_t axis : *given) axes.push_back(axis < 0 ? axis + rank : axis);
  } else {
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  std::optional<Part> part;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t before = (*pads)[i], after = (*pads)[axes.size() + i];
    if (before == 0 && after == 0) continue;
    if (part || before < 0 || after < 0) return std::nullopt;
    const int64_t size = (*dims)[static_cast<size_t>(axes[i])];
    part = Part{pad.inputs[0], axes[i], before, before + size, before + size + after};
  }
  return part;
}

// The parts that a tree of Adds sums, whose inner sums nothing else reads.
bool Collect(const Graph& graph, const Node& add, std::vector<Part>& parts) {
  for (const ValueId input : add.inputs) {
    if (!ReadOnce(graph, input)) return false;
    if (const Node* inner = MadeBy(graph, input, "Add")) {
      if (!Collect(graph, *inner, parts)) return false;
    } else {
      const Node* pad = MadeBy(graph, input, "Pad");
      const auto part = pad == nullptr ? std::nullopt : PartOf(graph, *pad);
      if (!part) return false;
      parts.push_back(*part);
    }
  }
  return true;
}

std::optional<Patch> SumOfPads(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  std::vector<Part> parts;
  if (!Collect(graph, node, parts)) return std::nullopt;
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.begin < b.begin; });
  std::vector<ValueId> values;
  int64_t end = 0;
  for (const Part& part : parts) {
    if (part.axis != parts[0].axis || part.whole != parts[0].whole || part.begin != end)
      return std::nullopt;
    end = part.end;
    values.push_back(part.value);
  }
  if (end != parts[0].whole) return std::nullopt;
  Patch patch(graph);
  patch.Replace(node.outputs[0], patch.AddNode("Concat", values, {{"axis", parts[0].axis}}));
  return patch;
}

constexpr Rule kRules[] = {{"merge_pads", "Add", SumOfPads}};

}  // namespace

absl::StatusOr<int> MergePads(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
