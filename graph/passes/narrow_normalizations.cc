// Normalizations of float, of a sum too, whose result mixed precision casts to 16 bits for the
// product behind them write these themselves, and read what a product before them gave in 16 bits.
#include "absl/strings/str_cat.h"
#include "graph/ops/onward_schemas.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"

namespace onward {

namespace {

// A value of that type of 16 bits that a Cast has made float; invalid for others.
ValueId BeforeCastFrom(const Graph& graph, ValueId value, DType dtype) {
  const ValueId narrow = BeforeCast(graph, value);
  return narrow.valid() && graph.type(narrow).dtype == dtype ? narrow : ValueId();
}

Node NarrowOf(const Graph& graph, const Node& normalization, std::string_view op, DType to) {
  Node made;
  made.domain = kOnwardDomain;
  made.op_type = absl::StrCat("Narrow", std::string(op));
  made.attributes = normalization.attributes;
  made.attributes.Set("to", static_cast<int64_t>(to));
  const bool adds = normalization.domain == kOnwardDomain;
  const size_t first = adds ? 2 : 1;  // of scale and bias
  ValueId x = normalization.inputs[0], z = adds ? normalization.inputs[1] : ValueId();
  if (adds) {
    const ValueId narrow_x = BeforeCastFrom(graph, x, to), narrow_z = BeforeCastFrom(graph, z, to);
    if (narrow_z.valid()) {
      z = narrow_z;
    } else if (narrow_x.valid()) {
      x = z;
      z = narrow_x;
    }
  }
  made.inputs = {x, z};
  made.inputs.insert(made.inputs.end(),
                     normalization.inputs.begin() + static_cast<std::ptrdiff_t>(first),
                     normalization.inputs.end());
  return made;
}

std::optional<Patch> BeforeTheirCast(const Graph& graph, NodeId root) {
  const Node& cast = graph.node(root);
  const Node* reshape = MadeBy(graph, cast.inputs[0], "Reshape");
  const ValueId y = reshape == nullptr ? cast.inputs[0] : reshape->inputs[0];
  const NodeId maker = Maker(graph, y);
  const DType to = graph.type(cast.outputs[0]).dtype;
  if (!maker.valid() || !ReadOnce(graph, y) || !ReadOnce(graph, cast.inputs[0]) || !IsNarrow(to) ||
      graph.type(y).dtype != DType::kFloat32)
    return std::nullopt;
  const Node& node = graph.node(maker);
  const bool has_sum = node.outputs.size() > 1 && node.outputs[1].valid();
  for (const char* op : {"LayerNormalization", "RMSNormalization"}) {
    // The kernel needs memory for the sum in float, and only a sum that is read has any.
    const bool adds = node.Is(absl::StrCat("Add", op), kOnwardDomain) && has_sum;
    const bool plain = node.Is(op) && !has_sum;
    if ((!adds && !plain) || node.outputs[0] != y ||
        graph.type(node.inputs[adds ? 2 : 1]).dtype != DType::kFloat32)
      continue;
    Patch patch(graph);
    const std::vector<ValueId> made =
        patch.AddNodeWithOutputs(NarrowOf(graph, node, op, to), adds ? 2 : 1);
    patch.Replace(cast.outputs[0], reshape == nullptr
                                       ? made[0]
                                       : patch.AddNode("Reshape", {made[0], reshape->inputs[1]},
                                                       reshape->attributes));
    if (adds) patch.Replace(node.outputs[1], made[1]);
    return patch;
  }
  return std::nullopt;
}

constexpr Rule kRules[] = {{"narrow_normalizations", "Cast", BeforeTheirCast}};

}  // namespace

absl::StatusOr<int> NarrowNormalizations(Graph& graph, const PassOptions&, int& budget) {
  return ApplyRules(graph, kRules, budget);
}

}  // namespace onward
