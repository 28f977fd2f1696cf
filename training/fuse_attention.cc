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

int64_t CountAttention(const Graph& graph) {
  int64_t count = 0;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    count += node.domain.empty() && node.op_type == "Attention" ? 1 : 0;
    for (const Subgraph& body : node.subgraphs) count += CountAttention(*body.graph);
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
  if (CountAttention(graph) <= CountAttention(model.graph)) return absl::OkStatus();
  for (const std::string& name : held) graph.RemoveInput(graph.FindValue(name));
  model = std::move(fused);
  return absl::OkStatus();
}

}  // namespace onward
