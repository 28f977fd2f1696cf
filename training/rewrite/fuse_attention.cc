#include "training/rewrite/fuse_attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "executors/evaluate.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/state.h"
#include "onward/dtype.h"
#include "onward/status.h"

namespace onward::training {
namespace {

// Returns whether a row may have no key left, by a number in place of its scores, which then get no
// gradient: as a mask that is added to them the number would give them one.
bool MayFillRows(const Graph& graph, const Node& where) {
  const Tensor* condition = graph.constant(where.inputs[0]);
  for (const size_t side : {1, 2}) {
    const Tensor* filler = graph.constant(where.inputs[side]);
    if (filler == nullptr || filler->num_elements() != 1 || !IsFloating(filler->dtype())) continue;
    bool infinite = false;
    DispatchDType(FloatTypes(), filler->dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      infinite = std::isinf(static_cast<float>(filler->span<T>()[0]));
    });
    if (infinite) return false;
    if (condition == nullptr || condition->rank() < 1) return true;
    const auto all = condition->span<bool>();
    const auto row = static_cast<std::ptrdiff_t>(condition->dims().back());
    const bool kept = side == 2;
    for (auto begin = all.begin(); begin != all.end(); begin += row) {
      if (std::find(begin, begin + row, kept) == begin + row) return true;
    }
    return false;
  }
  return true;
}

// Fuses what then has the gradients of its parts: the rest is read twice meanwhile, which no fusion
// allows.
absl::StatusOr<int> FuseWithGradients(Graph& graph, const PassOptions& options, int& budget) {
  std::vector<NodeId> readers;
  for (const NodeId id : graph.node_ids()) {
    if (!graph.node(id).Is("Softmax")) continue;
    const ValueId filled = graph.node(id).inputs[0];
    const NodeId producer = graph.value(filled).producer;
    if (!producer.valid() || !graph.node(producer).Is("Where") ||
        !MayFillRows(graph, graph.node(producer)))
      continue;
    Node reader;
    reader.op_type = "Identity";
    reader.inputs = {filled};
    reader.outputs = {GraphEdit(graph).AddValue(graph.UniqueName("reader"), graph.type(filled))};
    readers.push_back(GraphEdit(graph).AddNode(std::move(reader)));
  }
  absl::StatusOr<int> fused = FuseAttentionHeads(graph, options, budget);
  for (const NodeId id : readers) GraphEdit(graph).RemoveNode(id);
  return fused;
}

// The passes that make the parts' shapes, scales and masks known, and the fusion.
std::vector<Pass> Passes() {
  return {
      {"fold_constants", FoldConstants},
      {"simplify_shapes", SimplifyShapes},
      {"eliminate_identity", EliminateIdentity},
      {"lower_einsum", LowerEinsum},
      {"unflatten_matmul", UnflattenMatMul},
      {"merge_chains", MergeChains},
      {"fold_constants", FoldConstants},
      {"simplify_shapes", SimplifyShapes},
      {"fuse_attention_heads", FuseWithGradients},
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
    const bool attention = node.Is("Attention");
    count += attention && IsLong(graph, node) ? 1 : 0;
    for (const Subgraph& body : node.subgraphs) count += CountLong(*body.graph);
  }
  return count;
}

}  // namespace

absl::Status FuseAttention(Model& model, absl::Span<const std::string> initializers, int& budget) {
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
  options.evaluate = [](const Graph& g, NodeId id) { return executors::EvaluateOnCpu(g, id); };
  ONWARD_RETURN_IF_ERROR(RunPasses(fused, Passes(), options, budget).status());
  if (CountLong(graph) <= CountLong(model.graph)) return absl::OkStatus();
  for (const std::string& name : held) GraphEdit(graph).RemoveInput(graph.FindValue(name));
  model = std::move(fused);
  return absl::OkStatus();
}

}  // namespace onward::training
