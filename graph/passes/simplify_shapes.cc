// Shape arithmetic that types already give: integers whose elements are all known become
// constants, and so do the targets of Reshape and Expand where a 0, a 1 or one -1 can say the rest.
// Gather of the only element of an axis, as of an LSTM's one direction, becomes a view, Squeeze,
// and the shape of a Cast or a normalization that of its input.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "graph/infer/elements.h"
#include "graph/infer/infer.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/add_integers.h"
#include "graph/rewrite/match.h"
#include "onward/status.h"

namespace onward {

namespace {

// The constant that an integer or bool value is known to be.
std::optional<Tensor> KnownConstant(const Graph& graph, ValueId id, const KnownElements& known) {
  const Type& type = graph.type(id);
  const std::optional<Dims> dims = type.static_dims();
  if (!dims ||
      (type.dtype != DType::kInt64 && type.dtype != DType::kInt32 && type.dtype != DType::kBool)) {
    return std::nullopt;
  }
  const auto elements = ElementsOf(graph, id, known);
  if (!elements || SaturatedNumElements(*dims) != static_cast<int64_t>(elements->size())) {
    return std::nullopt;
  }
  Tensor tensor(type.dtype, *dims);
  for (size_t i = 0; i < elements->size(); ++i) {
    const std::optional<int64_t> number = DimNumber((*elements)[i]);
    if (!number) return std::nullopt;
    if (type.dtype == DType::kInt64) tensor.mutable_data<int64_t>()[i] = *number;
    if (type.dtype == DType::kInt32)
      tensor.mutable_data<int32_t>()[i] = static_cast<int32_t>(*number);
    if (type.dtype == DType::kBool) tensor.mutable_data<bool>()[i] = *number != 0;
  }
  return tensor;
}

// A constant target with which Reshape gives a result of the type that it has.
std::optional<std::vector<int64_t>> ReshapeTarget(const Graph& graph, const Node& node) {
  const Type& to = graph.type(node.outputs[0]);
  const Type& from = graph.type(node.inputs[0]);
  if (!to.shape) return std::nullopt;
  const bool zero_copies = node.attributes.Int("allowzero", 0) == 0;
  std::vector<int64_t> target;
  int inferred = 0, copied = 0;
  for (size_t i = 0; i < to.shape->size(); ++i) {
    const Dim& dim = (*to.shape)[i];
    if (dim.known()) {
      if (dim.value() == 0) return std::nullopt;
      target.push_back(dim.value());
    } else if (zero_copies && from.shape && i < from.shape->size() &&
               (*from.shape)[i].SameAs(dim)) {
      target.push_back(0);
      ++copied;
    } else {
      target.push_back(-1);
      ++inferred;
    }
  }
  // A -1 beside a copied dim cannot be told when that dim is 0.
  if (inferred > 1 || (inferred == 1 && copied > 0)) return std::nullopt;
  return target;
}

// The same for Expand: 1 keeps a dim.
std::optional<std::vector<int64_t>> ExpandTarget(const Graph& graph, const Node& node) {
  const Type& to = graph.type(node.outputs[0]);
  const Type& from = graph.type(node.inputs[0]);
  if (!to.shape || !from.shape || from.shape->size() > to.shape->size()) return std::nullopt;
  const size_t offset = to.shape->size() - from.shape->size();
  std::vector<int64_t> target;
  for (size_t i = 0; i < to.shape->size(); ++i) {
    const Dim& dim = (*to.shape)[i];
    if (i >= offset && (*from.shape)[i - offset].SameAs(dim)) {
      target.push_back(1);
    } else if (dim.known()) {
      target.push_back(dim.value());
    } else {
      return std::nullopt;
    }
  }
  return target;
}

std::optional<Patch> ConstantTarget(const Graph& graph, const Node& node) {
  const bool reshape = node.Is("Reshape");
  if ((!reshape && !node.Is("Expand")) || graph.is_constant(node.inputs[1])) return std::nullopt;
  const auto target = reshape ? ReshapeTarget(graph, node) : ExpandTarget(graph, node);
  if (!target) return std::nullopt;
  Patch patch(graph);
  const ValueId constant = AddIntegers(patch, *target);
  patch.Replace(node.outputs[0],
                patch.AddNode(node.op_type, {node.inputs[0], constant}, node.attributes));
  return patch;
}

std::optional<Patch> GatherOfOne(const Graph& graph, const Node& node) {
  if (!node.Is("Gather") || !graph.is_constant(node.inputs[1])) return std::nullopt;
  const auto& shape = graph.type(node.inputs[0]).shape;
  const std::optional<Dims> index = graph.type(node.inputs[1]).static_dims();
  if (!shape || !index || !index->empty()) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->size());
  const int64_t given = node.attributes.Int("axis", 0), axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank || !(*shape)[static_cast<size_t>(axis)].known() ||
      (*shape)[static_cast<size_t>(axis)].value() != 1)
    return std::nullopt;
  // Other elements are not there: that is for the kernel to say.
  const std::optional<std::vector<int64_t>> at = IntElements(graph, node.inputs[1]);
  if (!at || ((*at)[0] != 0 && (*at)[0] != -1)) return std::nullopt;
  Patch patch(graph);
  patch.Replace(node.outputs[0],
                patch.AddNode("Squeeze", {node.inputs[0], AddIntegers(patch, {axis})}));
  return patch;
}

// Casts and normalizations keep the shape: reads it from their input, so that a reader of the shape
// alone does not keep their result from being fused into its one other reader.
std::optional<Patch> ShapeOfInput(const Graph& graph, const Node& node) {
  if (!node.Is("Shape")) return std::nullopt;
  for (const char* op : {"Cast", "LayerNormalization", "RMSNormalization"}) {
    const Node* maker = MadeBy(graph, node.inputs[0], op);
    if (maker == nullptr) continue;
    Patch patch(graph);
    patch.Replace(node.outputs[0], patch.AddNode("Shape", {maker->inputs[0]}, node.attributes));
    return patch;
  }
  return std::nullopt;
}

std::optional<Patch> KnownOutput(const Graph& graph, const Node& node, const KnownElements& known) {
  if (node.outputs.size() != 1 || node.Is("Identity")) return std::nullopt;
  const ValueId output = node.outputs[0];
  if (graph.users(output).empty() && !graph.is_output(output)) return std::nullopt;
  std::optional<Tensor> constant = KnownConstant(graph, output, known);
  if (!constant) return std::nullopt;
  Patch patch(graph);
  patch.Replace(output, patch.AddConstant("", *std::move(constant)));
  return patch;
}

}  // namespace

absl::StatusOr<int> SimplifyShapes(Graph& graph, const PassOptions&, int& budget) {
  KnownElements known;
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  for (NodeId id : order) {
    // A branch that is never taken may not fit what it captures.
    const absl::Status status = InferNode(graph, id, &known);
    if (!status.ok() && graph.captures().empty()) return status;
  }
  int patches = 0;
  // Readers first: what only they needed falls with them.
  for (auto it = order.rbegin(); it != order.rend() && budget > 0; ++it) {
    if (!graph.alive(*it)) continue;
    const Node& node = graph.node(*it);
    std::optional<Patch> patch = KnownOutput(graph, node, known);
    if (!patch) patch = ConstantTarget(graph, node);
    if (!patch) patch = GatherOfOne(graph, node);
    if (!patch) patch = ShapeOfInput(graph, node);
    if (!patch) continue;
    patch->set_label(absl::StrCat("simplify_shapes @ ", graph.Describe(*it)));
    ONWARD_RETURN_IF_ERROR(Apply(graph, *std::move(patch)));
    --budget;
    ++patches;
  }
  return patches;
}

}  // namespace onward
