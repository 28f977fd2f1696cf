#include "training/fuse_attention.h"

#include <utility>
#include <vector>

#include "executors/evaluate.h"
#include "graph/base/status.h"
#include "graph/infer/infer.h"
#include "graph/passes/passes.h"
#include "training/state.h"

namespace onward {
namespace {

// What makes the parts' shapes, scales and masks known, and the fusion.
std::vector<Pass> Passes() {
  return {
      {"fold_constants", FoldConstants},
      {"simplify_shapes", SimplifyShapes},
      {"eliminate_identity", EliminateIdentity},
      {"merge_chains", MergeChains},
      {"fold_constants", FoldConstants},
      {"simplify_shapes", SimplifyShapes},
      {"fuse_attention_heads", FuseAttentionHeads},
      {"fuse_attention_mask", FuseAttentionMask},
      {"fuse_attention_layout", FuseAttentionLayout},
      {"eliminate_dead", EliminateDead},
  };
}

// With fewer keys, computing probabilities again costs more time than keeping them.
constexpr int64_t kLeastKeys = 64;

bool IsLong(const Graph& graph, const Node& node) {
  const auto& shape = graph.type(node.inputs[1]).shape;
  if (!shape || shape->size() < 3) return true;
  const Dim& keys = (*shape)[shape->size() == 3 ? 1 : 2];
  return !keys.known() || keys.value() >= kLeastKeys;
}

int64_t CountLong(const Graph& graph) {
  int64_t count = 0;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const bool attention = node.domain.empty() && node.op_type == "Attention";
    count += attention && IsLong(graph, node) ? 1 : 0;
    for (const Subgraph& body : node.subgraphs) count += CountLong(*body.graph);
  }
  return count;
}

}  // namespace

absl::Status FuseAttention(Model& model, absl::Span<const std::string> initializers) {
  Model fused = model;
  Graph& graph = fused.graph;
  // Their values will change: no pass may compute with them.
  std::vector<std::string> held;
  for (const std::string& name : initializers) {
    const ValueId id = graph.FindValue(name);
    if (!id.valid() || !graph.is_constant(id) || graph.is_input(id)) continue;
    ConstantToState(graph, id);
    held.push_back(name);
  }
  ONWARD_RETURN_IF_ERROR(InferGraph(graph));
  PassOptions options;
  options.evaluate = [](const Graph& g, NodeId id) { return EvaluateOnCpu(g, id); };
  ONWARD_RETURN_IF_ERROR(RunPasses(fused, Passes(), options).status());
  if (CountLong(graph) <= CountLong(model.graph)) return absl::OkStatus();
  for (const std::string& name : held) graph.RemoveInput(graph.FindValue(name));
  model = std::move(fused);
  return absl::OkStatus();
}

}  // namespace onward
