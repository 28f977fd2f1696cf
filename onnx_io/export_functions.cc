#include "onnx_io/export_functions.h"

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onnx_io/expand_functions.h"
#include "onnx_io/schema_body.h"
#include "onnx_io/upgrade/upgrade.h"
#include "onward/status.h"

namespace onward {
namespace {

// The node's body as a graph of ops that the standard has. Its inputs and outputs are the node's by
// position.
absl::StatusOr<Graph> BodyGraph(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  ONWARD_ASSIGN_OR_RETURN(const std::optional<SchemaBody> body, BodyOf(graph, id));
  if (!body) {
    return absl::UnimplementedError(
        absl::StrCat(graph.Describe(id), " has no function body, so it cannot be exported"));
  }
  Graph function;
  GraphEdit edit(function);
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool given = node.inputs[i].valid();
    const ValueId input =
        edit.AddInput(absl::StrCat("input_", i), given ? graph.type(node.inputs[i]) : Type());
    inputs.push_back(given ? input : ValueId());
  }
  std::vector<ValueId> outputs;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    outputs.push_back(edit.AddValue(absl::StrCat("output_", i), Type()));
    edit.AddOutput(outputs.back());
  }
  GraphFrame frame = FrameOf(function);
  ONWARD_RETURN_IF_ERROR(AddBody(*body, inputs, outputs, "", frame));
  ONWARD_RETURN_IF_ERROR(UpgradeGraph(function).status());
  ONWARD_RETURN_IF_ERROR(InferGraph(function));
  ONWARD_RETURN_IF_ERROR(ExpandFunctions(function, [](const Graph& g, NodeId inner) {
    return g.node(inner).domain != kOnwardDomain;
  }));
  return function;
}

}  // namespace

absl::Status AddLocalFunctions(const Graph& graph, bool keep_bodiless, LocalFunctions& functions) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    for (const Subgraph& subgraph : node.subgraphs) {
      ONWARD_RETURN_IF_ERROR(AddLocalFunctions(*subgraph.graph, keep_bodiless, functions));
    }
    if (node.domain != kOnwardDomain) continue;
    if (keep_bodiless) {
      ONWARD_ASSIGN_OR_RETURN(const std::optional<SchemaBody> known, BodyOf(graph, id));
      if (!known) continue;
    }
    ONWARD_ASSIGN_OR_RETURN(Graph body, BodyGraph(graph, id));
    onnx::FunctionProto proto;
    ONWARD_RETURN_IF_ERROR(GraphExporter().ExportFunction(body, &proto));
    proto.set_domain(kOnwardDomain);
    proto.set_name(node.op_type);
    // The same op and the same body: the same function.
    std::string overload;
    bool known = false;
    int others = 0;
    for (const onnx::FunctionProto& other : functions.protos) {
      if (other.name() != proto.name()) continue;
      onnx::FunctionProto plain = other;
      plain.clear_overload();
      overload = other.overload();
      known = plain.SerializeAsString() == proto.SerializeAsString();
      if (known) break;
      ++others;
    }
    if (!known) {
      overload = others == 0 ? "" : absl::StrCat(others);
      if (others > 0) proto.set_overload(overload);
      functions.bodies.push_back(std::move(body));
      functions.protos.push_back(std::move(proto));
    }
    functions.overloads[&node] = overload;
  }
  return absl::OkStatus();
}

}  // namespace onward
