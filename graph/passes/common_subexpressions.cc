#include <functional>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/match.h"
#include "onward/status.h"

namespace onward {

namespace {

size_t Mix(size_t hash, size_t value) {
  return hash ^ (value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2));
}

// Large tensors by a sample of their bytes: equality is decided by SameBits.
size_t HashOf(const Tensor& tensor) {
  size_t hash = static_cast<size_t>(tensor.dtype());
  for (int64_t dim : tensor.dims()) hash = Mix(hash, static_cast<size_t>(dim));
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.span<std::string>()) {
      hash = Mix(hash, std::hash<std::string>()(text));
    }
    return hash;
  }
  const auto* bytes = static_cast<const unsigned char*>(tensor.raw_data());
  const int64_t size = tensor.byte_size();
  const int64_t step = std::max<int64_t>(1, size / 1024);
  for (int64_t i = 0; i < size; i += step) hash = Mix(hash, bytes[i]);
  return hash;
}

size_t HashOf(const Node& node) {
  size_t hash = std::hash<std::string>()(node.op_type);
  hash = Mix(hash, node.outputs.size());
  for (ValueId id : node.inputs) hash = Mix(hash, static_cast<size_t>(id.index));
  for (const auto& [name, attribute] : node.attributes.map()) {
    hash = Mix(hash, std::hash<std::string>()(name));
    if (const auto* number = std::get_if<int64_t>(&attribute)) {
      hash = Mix(hash, static_cast<size_t>(*number));
    }
  }
  return hash;
}

bool SameComputation(const Node& a, const Node& b) {
  if (a.op_type != b.op_type || a.domain != b.domain || a.inputs != b.inputs ||
      a.outputs.size() != b.outputs.size() || !(a.attributes == b.attributes)) {
    return false;
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i].valid() != b.outputs[i].valid()) return false;
  }
  return true;
}

absl::StatusOr<int> MergeConstants(Graph& graph, bool floats, int& budget) {
  std::unordered_multimap<size_t, ValueId> seen;
  int patches = 0;
  const int num_values = graph.num_values();
  for (int i = 0; i < num_values && budget > 0; ++i) {
    const ValueId id{i};
    const Tensor* tensor = FixedConstant(graph, id);
    if (tensor == nullptr || graph.users(id).empty() || graph.is_output(id)) continue;
    if (tensor->raw_data() == nullptr || (!floats && IsFloating(tensor->dtype()))) continue;
    const size_t hash = HashOf(*tensor);
    ValueId same;
    for (auto [it, end] = seen.equal_range(hash); it != end && !same.valid(); ++it) {
      if (SameBits(*graph.constant(it->second), *tensor)) same = it->second;
    }
    if (!same.valid()) {
      seen.emplace(hash, id);
      continue;
    }
    Patch patch(absl::StrCat("merge_constants @ ", graph.value(id).name), graph);
    patch.Replace(id, same);
    ONWARD_RETURN_IF_ERROR(Apply(graph, std::move(patch)));
    --budget;
    ++patches;
  }
  return patches;
}

bool Mergeable(const Graph& graph, const Node& node) {
  // An Identity that is left stands for an output's name.
  // Nothing is known of an op without schema: it may draw or keep state.
  if (node.schema == nullptr) return false;
  if (!node.subgraphs.empty() || IsRandom(node) || node.Is("Identity")) return false;
  for (ValueId id : node.outputs) {
    if (id.valid() && (!graph.users(id).empty() || graph.is_output(id))) return true;
  }
  return false;
}

absl::StatusOr<int> Merge(Graph& graph, bool floats, int& budget) {
  ONWARD_ASSIGN_OR_RETURN(int patches, MergeConstants(graph, floats, budget));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  std::unordered_multimap<size_t, NodeId> seen;
  for (NodeId id : order) {
    if (budget <= 0) break;
    if (!graph.alive(id) || !Mergeable(graph, graph.node(id))) continue;
    const Node& node = graph.node(id);
    const size_t hash = HashOf(node);
    NodeId same;
    for (auto [it, end] = seen.equal_range(hash); it != end && !same.valid(); ++it) {
      if (SameComputation(graph.node(it->second), node)) same = it->second;
    }
    if (!same.valid()) {
      seen.emplace(hash, id);
      continue;
    }
    Patch patch(absl::StrCat("common_subexpression @ ", graph.Describe(id)), graph);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].valid()) patch.Replace(node.outputs[i], graph.node(same).outputs[i]);
    }
    ONWARD_RETURN_IF_ERROR(Apply(graph, std::move(patch)));
    --budget;
    ++patches;
  }
  return patches;
}

}  // namespace

absl::StatusOr<int> CommonSubexpressions(Graph& graph, const PassOptions&, int& budget) {
  return Merge(graph, true, budget);
}

absl::StatusOr<int> CommonSubexpressionsOfParameters(Graph& graph, const PassOptions&,
                                                     int& budget) {
  return Merge(graph, false, budget);
}

}  // namespace onward
