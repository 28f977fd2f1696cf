#include "training/gradient/static_sequences.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onward/functions.h"
#include "onward/status.h"

namespace onward::gradient {
namespace {

std::optional<std::vector<int64_t>> Integers(const Graph& graph, ValueId id) {
  const Tensor* tensor = graph.is_input(id) ? nullptr : graph.constant(id);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype() == DType::kInt64) {
    const auto span = tensor->span<int64_t>();
    return std::vector<int64_t>(span.begin(), span.end());
  }
  if (tensor->dtype() != DType::kInt32) return std::nullopt;
  const auto span = tensor->span<int32_t>();
  return std::vector<int64_t>(span.begin(), span.end());
}

// The constant position of a SequenceAt among `count` elements.
std::optional<size_t> Position(const Graph& graph, const Node& at, size_t count) {
  const auto position = Integers(graph, at.inputs[1]);
  if (!position || position->size() != 1) return std::nullopt;
  const auto length = static_cast<int64_t>(count);
  const int64_t index = (*position)[0] < 0 ? (*position)[0] + length : (*position)[0];
  if (index < 0 || index >= length) return std::nullopt;
  return static_cast<size_t>(index);
}

// The sizes of the parts of a SplitToSequence.
std::optional<std::vector<int64_t>> PartSizes(const Graph& graph, const Node& node) {
  const Type& type = graph.type(node.inputs[0]);
  if (!type.shape) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.shape->size());
  int64_t axis = node.attributes.Int("axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  const Dim& dim = (*type.shape)[static_cast<size_t>(axis)];
  int64_t step = 1;
  if (node.inputs.size() > 1 && node.inputs[1].valid()) {
    const auto split = Integers(graph, node.inputs[1]);
    if (!split) return std::nullopt;
    if (!graph.constant(node.inputs[1])->dims().empty()) return split;
    step = (*split)[0];
  }
  constexpr int64_t kMostParts = 4096;
  if (!dim.known() || step <= 0 || dim.value() / step >= kMostParts) return std::nullopt;
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < dim.value(); start += step)
    sizes.push_back(std::min(step, dim.value() - start));
  return sizes;
}

// Makes `id`'s node compute its output by `op` of `inputs`.
absl::Status Become(Graph& graph, NodeId id, std::string op, std::vector<ValueId> inputs,
                    Attributes attributes = {}) {
  Node node;
  node.schema = FindSchema(op, "");
  node.op_type = std::move(op);
  node.name = graph.node(id).name;
  node.inputs = std::move(inputs);
  node.outputs = graph.node(id).outputs;
  node.attributes = std::move(attributes);
  GraphEdit(graph).RemoveNode(id);
  return InferNode(graph, GraphEdit(graph).AddNode(std::move(node)));
}

// The positions that the sequence's users read; nothing where one of them is not a SequenceAt with
// a constant position.
std::optional<std::vector<std::pair<NodeId, size_t>>> ConstantReads(const Graph& graph,
                                                                    ValueId sequence,
                                                                    size_t count) {
  if (graph.is_output(sequence)) return std::nullopt;
  std::vector<std::pair<NodeId, size_t>> reads;
  for (const NodeId user : graph.users(sequence)) {
    if (!graph.node(user).Is("SequenceAt")) return std::nullopt;
    const std::optional<size_t> position = Position(graph, graph.node(user), count);
    if (!position) return std::nullopt;
    reads.emplace_back(user, *position);
  }
  return reads;
}

absl::Status ResolveSplit(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto sizes = PartSizes(graph, node);
  if (!sizes || sizes->empty()) return absl::OkStatus();
  const auto reads = ConstantReads(graph, node.outputs[0], sizes->size());
  if (!reads || reads->empty()) return absl::OkStatus();
  const int64_t axis = node.attributes.Int("axis", 0);
  const bool given = node.inputs.size() > 1 && node.inputs[1].valid();
  const bool squeezed = !given && node.attributes.Int("keepdims", 1) == 0;
  GraphSink sink(graph, graph.value(node.outputs[0]).name + "/");
  const std::vector<Expr> parts = Split(sink.Value(node.inputs[0]), *sizes, axis);
  ONWARD_RETURN_IF_ERROR(sink.status());
  for (const auto& [user, position] : *reads) {
    std::vector<ValueId> inputs = {parts[position].id()};
    if (squeezed) inputs.push_back(sink.Ints({axis}).id());
    ONWARD_RETURN_IF_ERROR(
        Become(graph, user, squeezed ? "Squeeze" : "Identity", std::move(inputs)));
  }
  GraphEdit(graph).RemoveNode(id);
  return absl::OkStatus();
}

absl::Status ResolveConstruct(Graph& graph, NodeId id) {
  const std::vector<ValueId> elements = graph.node(id).inputs;
  const ValueId sequence = graph.node(id).outputs[0];
  for (const NodeId user : std::vector<NodeId>(graph.users(sequence))) {
    const Node& node = graph.node(user);
    if (node.Is("SequenceAt")) {
      const std::optional<size_t> position = Position(graph, node, elements.size());
      if (position) ONWARD_RETURN_IF_ERROR(Become(graph, user, "Identity", {elements[*position]}));
    } else if (node.Is("ConcatFromSequence") && node.attributes.Int("new_axis", 0) == 0) {
      const int64_t axis = node.attributes.Int("axis", 0);
      ONWARD_RETURN_IF_ERROR(Become(graph, user, "Concat", elements, {{"axis", axis}}));
    }
  }
  if (graph.users(sequence).empty() && !graph.is_output(sequence)) GraphEdit(graph).RemoveNode(id);
  return absl::OkStatus();
}

}  // namespace

absl::Status ResolveStaticSequences(Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    if (!graph.alive(id)) continue;
    const Node& node = graph.node(id);
    if (node.Is("SplitToSequence")) ONWARD_RETURN_IF_ERROR(ResolveSplit(graph, id));
    if (graph.alive(id) && graph.node(id).Is("SequenceConstruct"))
      ONWARD_RETURN_IF_ERROR(ResolveConstruct(graph, id));
  }
  return absl::OkStatus();
}

}  // namespace onward::gradient
