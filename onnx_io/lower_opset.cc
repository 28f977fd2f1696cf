#include "onnx_io/lower_opset.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/infer/check.h"
#include "graph/infer/type_proto.h"
#include "graph/ir/graph_edit.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"
#include "onnx_io/problems.h"
#include "onnx_io/upgrade/rules.h"

namespace onward {
namespace {

using onnx::OpSchema;

// Where a newer version only takes dtypes away, what it still allows means the same before it.
bool OnlyNarrows(const std::string& op, int64_t until) {
  return until == 28 && (op == "ReduceLogSum" || op == "ReduceLogSumExp");
}

bool ChangesMeaning(const std::string& op, int64_t until) {
  if (OnlyNarrows(op, until)) return false;
  for (const UpgradeRule& rule : UpgradeRulesOf("", op)) {
    if (rule.until == until) return true;
  }
  return false;
}

// What older schemas do not show: the remainder of floats rounded down came with opset 28, windows
// of pools that would start in the padding are left out since opset 22.
bool NeedsNewest(const Graph& graph, const Node& node) {
  if (node.op_type == "Mod" && !node.inputs.empty() && node.inputs[0].valid()) {
    return node.attributes.Int("fmod", 0) == 0 && IsFloating(graph.type(node.inputs[0]).dtype);
  }
  const bool pool =
      node.op_type == "MaxPool" || node.op_type == "AveragePool" || node.op_type == "LpPool";
  return pool && node.attributes.Int("ceil_mode", 0) != 0;
}

bool TakesOutputs(const OpSchema& schema, const Graph& graph, const Node& node) {
  const auto& formals = schema.outputs();
  for (size_t i = 0; i < node.outputs.size() && !formals.empty(); ++i) {
    if (!node.outputs[i].valid()) continue;
    const Type& type = graph.type(node.outputs[i]);
    const auto& allowed = formals[std::min(i, formals.size() - 1)].GetTypes();
    if (allowed.empty() || !type.is_tensor()) continue;
    onnx::TypeProto proto;
    TypeToProto(Type::Tensor(type.dtype), &proto);
    if (allowed.count(onnx::Utils::DataTypeUtils::ToType(proto)) == 0) return false;
  }
  return true;
}

// `graph` is a copy: the node's schema is changed on the way.
int64_t OldestOf(Graph& graph, NodeId id) {
  Node& node = GraphEdit(graph).node(id);
  int64_t oldest = node.schema->since_version();
  if (NeedsNewest(graph, node)) return oldest;
  while (oldest > kOldestExportedOpset && !ChangesMeaning(node.op_type, oldest)) {
    node.schema = onnx::OpSchemaRegistry::Schema(node.op_type, static_cast<int>(oldest) - 1, "");
    if (node.schema == nullptr || node.schema->deprecated() ||
        !CheckAgainstSchema(graph, id).ok() || !TakesOutputs(*node.schema, graph, node)) {
      return oldest;
    }
    oldest = node.schema->since_version();
  }
  return std::max(oldest, kOldestExportedOpset);
}

// Calls found(opset, description) for every node of ai.onnx.
template <typename F>
void ForEachOldest(Graph& graph, F&& found) {
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs) {
      ForEachOldest(*subgraph.graph, found);
    }
    if (graph.node(id).schema == nullptr || !graph.node(id).domain.empty()) continue;
    const int64_t oldest = OldestOf(graph, id);
    found(oldest, graph, id);
  }
}

}  // namespace

int64_t OldestOpset(const Graph& graph) {
  Graph copy(graph);
  int64_t opset = kOldestExportedOpset;
  ForEachOldest(copy,
                [&](int64_t oldest, const Graph&, NodeId) { opset = std::max(opset, oldest); });
  return opset;
}

absl::Status CheckFitsOpset(const Graph& graph, int64_t opset) {
  Graph copy(graph);
  Problems problems;
  ForEachOldest(copy, [&](int64_t oldest, const Graph& g, NodeId id) {
    if (oldest <= opset) return;
    problems.Unsupported(
        absl::StrCat(g.Describe(id), " needs opset ", oldest, ", opset ", opset, " is asked for"));
  });
  return problems.ToStatus();
}

}  // namespace onward
