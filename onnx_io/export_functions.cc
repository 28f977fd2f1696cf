#include "onnx_io/export_functions.h"

#include "absl/strings/str_cat.h"
#include "graph/builder/formula_schema.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onnx_io/expand_functions.h"
#include "onnx_io/schema_body.h"
#include "onnx_io/upgrade/upgrade.h"
#include "onward/expr.h"
#include "onward/functions.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

// Adds the node's formula as the rest of a function.
absl::Status AddFormula(const Node& node, const std::vector<ValueId>& inputs, Graph& function) {
  Node inside;
  inside.schema = node.schema;
  inside.attributes = node.attributes;
  inside.inputs = inputs;
  inside.outputs = node.outputs;
  GraphSink sink(function);
  ONWARD_ASSIGN_OR_RETURN(const std::vector<Expr> written, WriteFormula(sink, inside));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Expr output =
        i < written.size() && written[i].valid() ? written[i] : sink.Scalar(0, DType::kFloat32);
    // A node of its own: a formula may give an input back, or one value twice.
    const ValueId named = expr::Identity(output).id();
    ONWARD_RETURN_IF_ERROR(sink.status());
    GraphEdit(function).Rename(named, function.UniqueName(absl::StrCat("output_", i)));
    GraphEdit(function).AddOutput(named);
  }
  return absl::OkStatus();
}

absl::Status AddSchemaBody(const Graph& graph, NodeId id, const std::vector<ValueId>& inputs,
                           Graph& function) {
  ONWARD_ASSIGN_OR_RETURN(const std::optional<SchemaBody> body, BodyOf(graph, id));
  if (!body) {
    return absl::UnimplementedError(
        absl::StrCat(graph.Describe(id), " has no function body, so it cannot be exported"));
  }
  GraphEdit edit(function);
  std::vector<ValueId> outputs;
  for (size_t i = 0; i < graph.node(id).outputs.size(); ++i) {
    outputs.push_back(edit.AddValue(absl::StrCat("output_", i), Type()));
    edit.AddOutput(outputs.back());
  }
  GraphFrame frame = FrameOf(function);
  ONWARD_RETURN_IF_ERROR(AddBody(*body, inputs, outputs, "", frame));
  ONWARD_RETURN_IF_ERROR(UpgradeGraph(function).status());
  return InferGraph(function);
}

// Writes the node's computation as a graph of standard ops, whose inputs and outputs are the node's
// by position.
absl::StatusOr<Graph> BodyGraph(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Graph function;
  GraphEdit edit(function);
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool given = node.inputs[i].valid();
    const ValueId input =
        edit.AddInput(absl::StrCat("input_", i), given ? graph.type(node.inputs[i]) : Type());
    inputs.push_back(given ? input : ValueId());
  }
  if (HasFormula(*node.schema)) {
    ONWARD_RETURN_IF_ERROR(Annotate(AddFormula(node, inputs, function), graph.Describe(id)));
  } else {
    ONWARD_RETURN_IF_ERROR(AddSchemaBody(graph, id, inputs, function));
  }
  ONWARD_RETURN_IF_ERROR(ExpandFunctions(function, [](const Graph& g, NodeId inner) {
    return g.node(inner).domain != kOnwardDomain;
  }));
  return function;
}

}  // namespace

absl::Status AddLocalFunctions(const Graph& graph, LocalFunctions& functions) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    for (const Subgraph& subgraph : node.subgraphs) {
      ONWARD_RETURN_IF_ERROR(AddLocalFunctions(*subgraph.graph, functions));
    }
    if (node.domain != kOnwardDomain) continue;
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

}  // namespace onward::onnx_io
