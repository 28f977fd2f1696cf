#include "graph/infer/infer.h"

#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/infer/canonical.h"
#include "graph/infer/check.h"
#include "graph/infer/check_shapes.h"
#include "graph/infer/context.h"
#include "graph/infer/dims.h"
#include "graph/infer/einsum.h"
#include "graph/infer/merge.h"
#include "graph/infer/propagate_elements.h"
#include "graph/infer/type_proto.h"
#include "graph/infer/walk.h"
#include "graph/ir/graph_edit.h"
#include "onnx/defs/schema.h"
#include "onward/status.h"

namespace onward {
namespace {

// ONNX puts the kind of its error before the message.
std::string WithoutPrefix(std::string_view message) {
  for (std::string_view prefix : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    if (message.substr(0, prefix.size()) == prefix) message.remove_prefix(prefix.size());
  }
  return std::string(message);
}

bool HasUnknownInput(const Graph& graph, const Node& node) {
  for (ValueId input : node.inputs) {
    if (input.valid() && graph.type(input).kind == Type::Kind::kUnknown) return true;
  }
  return false;
}

// ONNX's messages say that shapes do not fit, and not which.
absl::Status WithInputTypes(const absl::Status& status, const Graph& graph, const Node& node) {
  if (status.ok() || node.inputs.empty() || !node.subgraphs.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; inputs: ", InputTypes(graph, node)));
}

absl::Status InferOutputs(Graph& graph, NodeId id, const KnownElements& known,
                          std::vector<Type>& types) {
  const Node& node = graph.node(id);
  if (node.Is("Einsum")) {
    ONWARD_ASSIGN_OR_RETURN(types[0], InferEinsum(graph, node));
    return absl::OkStatus();
  }
  NodeInferenceContext context(graph, id, known);
  try {
    if (std::optional<std::vector<Type>> taken = context.InferTakenBranch()) {
      types = *std::move(taken);
      return absl::OkStatus();
    }
    if (node.schema->has_type_and_shape_inference_function()) {
      node.schema->GetTypeAndShapeInferenceFunction()(context);
    }
    ONWARD_RETURN_IF_ERROR(context.InferOtherBodies());
    for (size_t i = 0; i < types.size(); ++i) types[i] = TypeFromProto(*context.getOutputType(i));
    context.CompleteCarried(types);
  } catch (const std::exception& error) {
    if (!context.body_status().ok()) return context.body_status();
    return absl::InvalidArgumentError(WithoutPrefix(error.what()));
  }
  return absl::OkStatus();
}

// Where inference has an expression for a size, a number that a file declares is at best one of its
// values: that of the exporter's example.
void TakeExpressions(const Type& inferred, Type& type) {
  if (!inferred.shape || !type.shape || inferred.shape->size() != type.shape->size()) return;
  for (size_t i = 0; i < type.shape->size(); ++i)
    if ((*inferred.shape)[i].symbolic()) (*type.shape)[i] = (*inferred.shape)[i];
}

// `from_file`: the types that the outputs have are what a file declares.
absl::Status InferUnannotated(Graph& graph, NodeId id, KnownElements& known, bool alone,
                              bool from_file) {
  const Node& node = graph.node(id);
  ONWARD_RETURN_IF_ERROR(CheckAgainstSchema(graph, id));
  if (HasUnknownInput(graph, node)) return absl::OkStatus();
  std::vector<Type> types(node.outputs.size());
  ONWARD_RETURN_IF_ERROR(WithInputTypes(InferOutputs(graph, id, known, types), graph, node));
  CorrectDTypes(graph, node, types);
  FillTypes(graph, id, known, types);
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueId output = node.outputs[i];
    if (!output.valid()) continue;
    absl::StatusOr<Type> merged = MergeTypes(graph.type(output), types[i]);
    if (!merged.ok()) {
      return Annotate(merged.status(),
                      absl::StrCat("output ", i, " '", graph.value(output).name, "'"));
    }
    if (from_file) TakeExpressions(types[i], *merged);
    GraphEdit(graph).type(output) = *std::move(merged);
    NameUnknownDims(graph, output, alone);
  }
  ONWARD_RETURN_IF_ERROR(CheckOutputTypes(graph, id));
  PropagateElements(graph, id, known);
  return absl::OkStatus();
}

void ForgetShapes(Graph& graph) {
  for (int i = 0; i < graph.num_values(); ++i) {
    if (!graph.is_constant({i})) ForgetShapes(GraphEdit(graph).type({i}));
  }
  for (NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs) ForgetShapes(*subgraph.graph);
  }
}

absl::Status InferAnnotated(Graph& graph, NodeId id, KnownElements& known, bool alone,
                            bool from_file) {
  if (graph.node(id).schema == nullptr) return absl::OkStatus();
  const absl::Status status = InferUnannotated(graph, id, known, alone, from_file);
  return status.ok() ? status : Annotate(status, graph.Describe(id));
}

// Infers a node of a model file once more without the shapes that the file declares for its
// outputs and inside its bodies: exporters write wrong ones, and they change no result.
absl::Status InferWithoutDeclared(Graph& graph, NodeId id, KnownElements& known) {
  for (ValueId output : graph.node(id).outputs) {
    if (output.valid()) ForgetShapes(GraphEdit(graph).type(output));
  }
  for (const Subgraph& subgraph : graph.node(id).subgraphs) ForgetShapes(*subgraph.graph);
  return InferNode(graph, id, &known);
}

}  // namespace

absl::Status InferNode(Graph& graph, NodeId id, KnownElements* known) {
  KnownElements none;
  return InferAnnotated(graph, id, known == nullptr ? none : *known, known == nullptr, false);
}

absl::Status InferNodes(Graph& graph, KnownElements& known) {
  for (ValueId input : graph.inputs()) NameUnknownDims(graph, input);
  const absl::StatusOr<std::vector<NodeId>> order = graph.TopologicalOrder();
  if (!order.ok()) return order.status();
  for (NodeId id : *order) ONWARD_RETURN_IF_ERROR(InferNode(graph, id, &known));
  return absl::OkStatus();
}

absl::Status InferGraph(Graph& graph) {
  CanonicalizeDims(graph);
  KnownElements known;
  return InferNodes(graph, known);
}

std::vector<absl::Status> InferGraphReportingAll(Graph& graph, bool shapes_are_hints) {
  CanonicalizeDims(graph);
  for (ValueId input : graph.inputs()) NameUnknownDims(graph, input);
  const absl::StatusOr<std::vector<NodeId>> order = graph.TopologicalOrder();
  if (!order.ok()) return {order.status()};
  std::vector<absl::Status> problems;
  KnownElements known;
  for (NodeId id : *order) {
    absl::Status status = InferAnnotated(graph, id, known, false, true);
    if (status.ok()) continue;
    if (shapes_are_hints && InferWithoutDeclared(graph, id, known).ok()) continue;
    problems.push_back(std::move(status));
  }
  return problems;
}

}  // namespace onward
