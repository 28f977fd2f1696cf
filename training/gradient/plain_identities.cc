#include "training/gradient/plain_identities.h"

#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "training/source/stop_gradients.h"

namespace onward::training {
namespace {

void MakeRequirementsPlain(Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs)
      MakeRequirementsPlain(*subgraph.graph);
    const std::string& op = graph.node(id).op_type;
    if (graph.node(id).domain != kOnwardDomain || (op != "RequireShape" && op != "RequireRange"))
      continue;
    for (size_t i = 1; i < graph.node(id).inputs.size(); ++i)
      GraphEdit(graph).SetInput(id, static_cast<int>(i), ValueId());
    Node& node = GraphEdit(graph).node(id);
    node.inputs.resize(1);
    node.attributes = Attributes();
    node.domain.clear();
    node.op_type = "Identity";
    node.schema = FindSchema("Identity", "");
  }
}

}  // namespace

void MakePlainIdentities(Graph& graph) {
  StopGradientsToIdentities(graph);
  MakeRequirementsPlain(graph);
}

}  // namespace onward::training
