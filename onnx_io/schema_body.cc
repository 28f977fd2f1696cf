#include "onnx_io/schema_body.h"

#include <exception>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/infer/type_proto.h"
#include "graph/ops/opset.h"
#include "onnx/defs/schema.h"
#include "onnx_io/attribute_proto.h"
#include "onnx_io/export_graph.h"
#include "onnx_io/import_graph.h"
#include "onward/import.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

using onnx::OpSchema;

// The opset that the schema's builder of context-dependent bodies writes for; nothing when there is
// no builder. A builder puts its nodes in the opset that it was registered for, but says that they
// are of the one that is asked for: so its own is asked for.
std::optional<int> BuilderOpset(const OpSchema& schema) {
  std::optional<int> best;
  for (const int version : schema.context_dependent_function_opset_versions()) {
    if (version <= kOpset && (!best || version > *best)) best = version;
  }
  return best;
}

// The node as its schema's builder sees it. Subgraphs name what they capture by the keys of
// `captures`.
absl::Status DescribeNode(const Graph& graph, NodeId id, onnx::NodeProto& proto,
                          std::map<std::string, ValueId>& captures) {
  const Node& node = graph.node(id);
  proto.set_domain(node.domain);
  proto.set_op_type(node.op_type);
  const auto name = [&](ValueId value) {
    return value.valid() ? absl::StrCat("v", value.index) : std::string();
  };
  for (const ValueId value : node.inputs) proto.add_input(name(value));
  for (const ValueId value : node.outputs) proto.add_output(name(value));
  for (const auto& [key, attribute] : node.attributes.map()) {
    AttributeToProto(key, attribute, proto.add_attribute());
  }
  for (const Subgraph& subgraph : node.subgraphs) {
    std::vector<std::string> names;
    for (const ValueId capture : subgraph.captures) {
      names.push_back(absl::StrCat("captured_", capture.index));
      captures[names.back()] = capture;
    }
    onnx::AttributeProto* attribute = proto.add_attribute();
    attribute->set_name(subgraph.attribute);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    ONWARD_RETURN_IF_ERROR(
        GraphExporter().ExportGraph(*subgraph.graph, names, nullptr, attribute->mutable_g()));
  }
  return absl::OkStatus();
}

// Builders look into the types of inputs without asking whether they are known.
bool TypesAreKnown(const Graph& graph, const Node& node) {
  for (const ValueId input : node.inputs) {
    if (input.valid() && graph.type(input).kind == Type::Kind::kUnknown) return false;
  }
  return true;
}

bool Build(const Graph& graph, NodeId id, const onnx::NodeProto& proto, int opset,
           onnx::FunctionProto& function) {
  std::vector<onnx::TypeProto> types;
  for (const ValueId input : graph.node(id).inputs) {
    types.emplace_back();
    if (input.valid()) TypeToProto(graph.type(input), &types.back());
  }
  const onnx::FunctionBodyBuildContextImpl context(proto, types);
  return graph.node(id).schema->BuildContextDependentFunction(context, function, opset);
}

}  // namespace

absl::StatusOr<std::optional<SchemaBody>> BodyOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.schema == nullptr ||
      (!node.schema->HasFunction() && !node.schema->HasContextDependentFunction())) {
    return std::nullopt;
  }
  SchemaBody body;
  try {
    onnx::NodeProto proto;
    ONWARD_RETURN_IF_ERROR(DescribeNode(graph, id, proto, body.captures));
    const onnx::FunctionProto* fixed = node.schema->GetFunction(
        node.domain.empty() ? static_cast<int>(kOpset) : OpSchema::kUninitializedSinceVersion);
    if (fixed != nullptr) {
      body.function = *fixed;
    } else {
      const std::optional<int> opset = BuilderOpset(*node.schema);
      if (!opset || !TypesAreKnown(graph, node) || !Build(graph, id, proto, *opset, body.function))
        return std::nullopt;
    }
    for (const auto& attribute : proto.attribute()) body.attributes[attribute.name()] = attribute;
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(graph.Describe(id), " its function body cannot be built: ", error.what()));
  }
  for (const auto& [name, declared] : node.schema->attributes()) {
    if (declared.default_value.has_name()) body.attributes.emplace(name, declared.default_value);
  }
  body.opsets = OpsetsFrom(body.function);
  body.opsets.emplace("", kOpset);  // bodies of other domains' ops do not all say
  // A body that inlines a subgraph has nodes of the newest opset in it; what the standard's
  // builders put around them has not changed its meaning.
  if (!node.subgraphs.empty()) body.opsets[""] = kOpset;
  return body;
}

absl::Status AddBody(const SchemaBody& body, const std::vector<ValueId>& inputs,
                     const std::vector<ValueId>& outputs, const std::string& prefix,
                     GraphFrame& frame) {
  const ImportOptions options;
  const TensorSource source;
  Problems problems;
  GraphImporter importer(options, source, problems);
  std::map<std::string, BoundAttribute> attributes;
  for (const auto& [name, proto] : body.attributes) attributes[name] = {&proto, nullptr};
  Graph& graph = *frame.graph;
  const int first = graph.num_nodes();
  importer.ImportBody(body.function, inputs, outputs, attributes, body.opsets, body.captures,
                      prefix, frame);
  ONWARD_RETURN_IF_ERROR(problems.ToStatus());
  // Bodies list their nodes in topological order.
  KnownElements known;
  for (int i = first; i < graph.num_nodes(); ++i) {
    ONWARD_RETURN_IF_ERROR(InferNode(graph, {i}, &known));
  }
  return absl::OkStatus();
}

GraphFrame FrameOf(Graph& graph) {
  GraphFrame frame;
  frame.graph = &graph;
  for (int i = 0; i < graph.num_values(); ++i) frame.names.emplace(graph.value({i}).name, 1);
  return frame;
}

}  // namespace onward::onnx_io
