#include "training/gradient/expand_bodies.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/builder/formula_schema.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onnx/defs/schema.h"
#include "onnx_io/expand_functions.h"
#include "onward/gradient.h"
#include "onward/status.h"
#include "training/gradient/path.h"
#include "training/gradient/rules.h"

namespace onward::gradient {
namespace {

bool HasRule(const Node& node) {
  return training::FindGradient(node.domain, node.op_type).has_value();
}

bool HasBody(const Node& node) {
  return node.schema != nullptr &&
         (node.schema->HasFunction() || node.schema->HasContextDependentFunction());
}

// The formula's results pass through Identity into the node's own outputs, which callers hold.
absl::Status WriteFormulaOf(Graph& graph, NodeId id) {
  const std::string where = graph.Describe(id);
  Node node;
  {
    const Node& old = graph.node(id);
    node.schema = old.schema;
    node.inputs = old.inputs;
    node.outputs = old.outputs;
    node.attributes = old.attributes;
    node.name = old.name.empty() ? old.op_type : old.name;
  }
  GraphEdit(graph).RemoveNode(id);
  GraphSink sink(graph, absl::StrCat(node.name, "/"));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<Expr> results, WriteFormula(sink, node));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    if (i >= results.size() || !results[i].valid()) {
      return absl::InternalError(absl::StrCat(where, " its formula does not compute output ", i));
    }
    Node identity;
    identity.op_type = "Identity";
    identity.schema = FindSchema("Identity", "");
    identity.inputs = {results[i].id()};
    identity.outputs = {node.outputs[i]};
    identity.origin = absl::StrCat("gradient @ ", where);
    ONWARD_RETURN_IF_ERROR(InferNode(graph, GraphEdit(graph).AddNode(std::move(identity))));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExpandWhereNoRule(Graph& graph, absl::Span<const ValueId> sources,
                               absl::Span<const ValueId> targets,
                               absl::Span<const ValueId> stop_at) {
  while (true) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
    const Paths paths = FindPaths(graph, order, sources, targets, stop_at);
    std::vector<bool> expand(static_cast<size_t>(graph.num_nodes()));
    bool formulas = false, bodies = false;
    for (const NodeId id : order) {
      const Node& node = graph.node(id);
      if (HasRule(node) || !paths.through(node)) continue;
      if (node.schema != nullptr && HasFormula(*node.schema)) {
        const std::string where = graph.Describe(id);
        ONWARD_RETURN_IF_ERROR(Annotate(WriteFormulaOf(graph, id), where));
        formulas = true;
      } else if (HasBody(node)) {
        expand[static_cast<size_t>(id.index)] = bodies = true;
      }
    }
    if (!formulas && !bodies) return absl::OkStatus();
    const int before = graph.num_nodes();
    if (bodies) {
      ONWARD_RETURN_IF_ERROR(onnx_io::ExpandFunctions(graph, [&](const Graph& g, NodeId id) {
        const auto i = static_cast<size_t>(id.index);
        return &g != &graph || i >= expand.size() || !expand[i];
      }));
    }
    // A schema may have a body that it cannot write for this node.
    if (!formulas && graph.num_nodes() == before) return absl::OkStatus();
  }
}

}  // namespace onward::gradient
