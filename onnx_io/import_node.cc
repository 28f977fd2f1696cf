// The nodes of a graph: schema, arity, attributes, subgraphs.
#include <climits>
#include <set>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "graph/infer/misread_defaults.h"
#include "graph/ir/graph_edit.h"
#include "onnx/defs/schema.h"
#include "onnx_io/import_attributes.h"
#include "onnx_io/import_graph.h"
#include "onnx_io/upgrade/upgrade.h"

namespace onward::onnx_io {
namespace {

using onnx::OpSchema;
using onnx::OpSchemaRegistry;

// Why the domain has no such op in the version that the model imports.
std::string WhyUnknown(const std::string& op, const std::string& domain, int64_t version) {
  const auto& domains = OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  if (domains.find(domain) == domains.end()) {
    return absl::StrCat("its domain '", files::PrintableUtf8(domain), "' is not supported");
  }
  const std::string opset = absl::StrCat(DomainName(domain), " opset ", version);
  const OpSchema* newest = OpSchemaRegistry::Schema(op, domain);
  if (newest == nullptr) return absl::StrCat("is not an operator of ", opset);
  return absl::StrCat("is not an operator of ", opset, ", which the model imports");
}

// Some arguments of `formals` that the node leaves out must be there: the first such index, or -1.
int FirstMissing(const std::vector<OpSchema::FormalParameter>& formals,
                 const google::protobuf::RepeatedPtrField<std::string>& names) {
  for (int i = 0; i < names.size() && i < static_cast<int>(formals.size()); ++i) {
    if (names.Get(i).empty() && formals[static_cast<size_t>(i)].GetOption() == OpSchema::Single) {
      return i;
    }
  }
  return -1;
}

std::string Range(int low, int high) {
  if (low == high) return absl::StrCat(low);
  return high == INT_MAX ? absl::StrCat("at least ", low) : absl::StrCat(low, " to ", high);
}

}  // namespace

void GraphImporter::FindSchema(const onnx::NodeProto& proto, const NameScope& scope, Node& node) {
  const auto imported = scope.opsets->find(node.domain);
  if (imported == scope.opsets->end()) {
    if (options_.for_inspection) return;
    const auto& domains = OpSchemaRegistry::DomainToVersionRange::Instance().Map();
    if (domains.find(node.domain) == domains.end()) {
      return problems_.Unsupported(Describe(proto) + WhyUnknown(node.op_type, node.domain, 0));
    }
    return problems_.Invalid(absl::StrCat(Describe(proto), "its domain '",
                                          files::PrintableUtf8(DomainName(node.domain)),
                                          "' is not among the model's opset imports"));
  }
  const auto version = static_cast<int>(imported->second);
  node.schema = OpSchemaRegistry::Schema(node.op_type, version, node.domain);
  const bool upgraded = UpgradesRemovedOp(node.domain, node.op_type, version, node.schema);
  if (node.schema != nullptr && node.schema->deprecated() && !upgraded) {
    const int since = node.schema->since_version();
    node.schema = nullptr;
    if (options_.for_inspection) return;
    return problems_.Invalid(absl::StrCat(Describe(proto), "was removed from ",
                                          DomainName(node.domain), " in opset ", since,
                                          ", the model imports ", version));
  }
  if (node.schema != nullptr || options_.for_inspection || upgraded) return;
  problems_.Unsupported(Describe(proto) + WhyUnknown(node.op_type, node.domain, version));
}

void GraphImporter::CheckArity(const onnx::NodeProto& proto, const Node& node) {
  const OpSchema& schema = *node.schema;
  if (proto.input_size() < schema.min_input() || proto.input_size() > schema.max_input()) {
    problems_.Invalid(absl::StrCat(Describe(proto), "has ", proto.input_size(),
                                   " inputs, expected ",
                                   Range(schema.min_input(), schema.max_input())));
  } else if (const int i = FirstMissing(schema.inputs(), proto.input()); i >= 0) {
    problems_.Invalid(absl::StrCat(Describe(proto), "input ", i, " (",
                                   schema.inputs()[static_cast<size_t>(i)].GetName(),
                                   ") is missing"));
  }
  if (proto.output_size() < schema.min_output() || proto.output_size() > schema.max_output()) {
    problems_.Invalid(absl::StrCat(Describe(proto), "has ", proto.output_size(),
                                   " outputs, expected ",
                                   Range(schema.min_output(), schema.max_output())));
  }
}

std::vector<ValueId> GraphImporter::ResolveInputs(const onnx::NodeProto& proto, GraphFrame& frame,
                                                  const NameScope& scope) {
  std::vector<ValueId> inputs;
  for (int i = 0; i < proto.input_size(); ++i) {
    bool found = true;
    inputs.push_back(proto.input(i).empty() ? ValueId()
                                            : Resolve(proto.input(i), scope, frame, found));
    if (!found) {
      problems_.Invalid(absl::StrCat(Describe(proto), "reads '",
                                     files::PrintableUtf8(proto.input(i)), "' as input ", i,
                                     ", which nothing produces"));
    }
  }
  return inputs;
}

void GraphImporter::ImportNodes(const Nodes& nodes, GraphFrame& frame, NameScope& scope) {
  for (const auto& node : nodes) {
    if (scope.constants.contains(&node)) continue;
    if (!CountNode()) return;
    if (const onnx::FunctionProto* function = FindFunction(node, scope)) {
      ImportCall(node, *function, frame, scope);
    } else {
      ImportNode(node, frame, scope);
    }
  }
}

void GraphImporter::ImportNode(const onnx::NodeProto& proto, GraphFrame& frame, NameScope& scope) {
  const std::string where = Describe(proto);
  if (!CheckName(where, proto.name()) || !CheckName(where, proto.op_type()) ||
      !CheckName(where, proto.domain())) {
    return;
  }
  Node node;
  node.domain = NormalDomain(proto.domain());
  node.op_type = proto.op_type();
  node.name = proto.name().empty() ? "" : absl::StrCat(scope.prefix, proto.name());
  node.doc_string = proto.doc_string();
  node.metadata = MetadataFrom(proto);
  FindSchema(proto, scope, node);
  if (node.schema != nullptr) CheckArity(proto, node);
  node.inputs = ResolveInputs(proto, frame, scope);
  for (const std::string& name : proto.output()) {
    const auto it = scope.values.find(name);
    node.outputs.push_back(name.empty() || it == scope.values.end() ? ValueId() : it->second);
  }
  ImportAttributes(proto, node, frame, scope);
  // A value that is defined twice would get two producers.
  if (problems_.count() == 0) GraphEdit(*frame.graph).AddNode(std::move(node));
}

BoundAttribute GraphImporter::Bind(const onnx::AttributeProto& proto,
                                   const NameScope& scope) const {
  if (proto.ref_attr_name().empty()) return {&proto, &scope};
  for (const NameScope* s = &scope; s != nullptr; s = s->outer) {
    if (s->attributes == nullptr) continue;
    const auto it = s->attributes->find(proto.ref_attr_name());
    if (it != s->attributes->end()) return it->second;
  }
  return {};
}

void GraphImporter::ImportAttributes(const onnx::NodeProto& proto, Node& node, GraphFrame& frame,
                                     const NameScope& scope) {
  std::set<std::string> seen;
  for (const auto& attribute : proto.attribute()) {
    const std::string& name = attribute.name();
    const std::string where =
        absl::StrCat(Describe(proto), "attribute '", files::PrintableUtf8(name), "' ");
    if (!CheckName(where, name)) continue;
    if (!seen.insert(name).second) {
      problems_.Invalid(where + "is given twice");
      continue;
    }
    // The standard keeps such names for notes of implementations.
    if (name.rfind("__", 0) == 0) continue;
    const BoundAttribute bound = Bind(attribute, scope);
    if (bound.proto == nullptr) {
      seen.erase(name);
      continue;
    }
    if (node.schema != nullptr) {
      onnx::AttributeProto kind_only;
      kind_only.set_name(name);
      kind_only.set_type(AttributeKind(*bound.proto));
      if (const absl::Status ok = CheckAttributeKind(node, kind_only); !ok.ok()) {
        problems_.Add(where, ok);
        continue;
      }
    }
    if (AttributeKind(*bound.proto) == onnx::AttributeProto::GRAPH) {
      ImportSubgraph(bound.proto->g(), name, node, frame, *bound.scope);
      continue;
    }
    absl::StatusOr<Attribute> value = AttributeFromProto(*bound.proto, source_);
    if (!value.ok()) {
      problems_.Add(where, value.status());
    } else {
      node.attributes.Set(name, *std::move(value));
    }
  }
  if (node.schema == nullptr) return;
  for (const auto& [name, declared] : node.schema->attributes()) {
    if (seen.contains(name)) continue;
    if (declared.required)
      problems_.Invalid(absl::StrCat(Describe(proto), "attribute '", name, "' is required"));
    // Written out, so that others who read the exported model infer it rightly.
    if (const onnx::AttributeProto* misread = MisreadDefault(*node.schema, name))
      node.attributes.Set(name, *AttributeFromProto(*misread, source_));
  }
}

void GraphImporter::ImportSubgraph(const onnx::GraphProto& proto, const std::string& attribute,
                                   Node& node, GraphFrame& frame, const NameScope& names) {
  if (frame.depth + 1 > options_.max_subgraph_depth) {
    return problems_.Invalid(absl::StrCat("[", node.op_type, " '", files::PrintableUtf8(node.name),
                                          "'] subgraphs are nested deeper than the limit of ",
                                          options_.max_subgraph_depth));
  }
  Subgraph subgraph;
  subgraph.attribute = attribute;
  subgraph.graph = std::make_unique<Graph>();
  GraphFrame inner;
  inner.graph = subgraph.graph.get();
  inner.outer = &frame;
  inner.depth = frame.depth + 1;
  NameScope scope;
  scope.outer = &names;
  scope.frame = &inner;
  scope.opsets = names.opsets;
  ImportGraph(proto, inner, scope, true);
  subgraph.captures = std::move(inner.captured);
  node.subgraphs.push_back(std::move(subgraph));
}

}  // namespace onward::onnx_io
