#include "onnx_io/import_graph.h"

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "graph/ir/graph_edit.h"
#include "onnx_io/check_type.h"
#include "onnx_io/import_attributes.h"

namespace onward::onnx_io {

std::string NormalDomain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string DomainName(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::string Describe(const onnx::NodeProto& node) {
  std::string where = node.name();
  for (int i = 0; where.empty() && i < node.output_size(); ++i) where = node.output(i);
  const std::string domain = NormalDomain(node.domain());
  return absl::StrCat("[", files::PrintableUtf8(domain), domain.empty() ? "" : ".",
                      files::PrintableUtf8(node.op_type()), " '", files::PrintableUtf8(where),
                      "'] ");
}

namespace {

std::string ValueContext(const std::string& name) {
  return absl::StrCat("value '", files::PrintableUtf8(name), "': ");
}

}  // namespace

bool GraphImporter::CheckName(std::string_view where, const std::string& name) {
  if (static_cast<int64_t>(name.size()) <= options_.max_name_bytes) return true;
  problems_.Invalid(absl::StrCat(std::string(where), "a name has ", name.size(),
                                 " bytes, above the limit of ", options_.max_name_bytes));
  return false;
}

bool GraphImporter::CountNode() {
  if (++nodes_ <= options_.max_nodes) return true;
  if (nodes_ == options_.max_nodes + 1) {
    problems_.Invalid(absl::StrCat("the model has more than ", options_.max_nodes,
                                   " nodes when its functions are expanded"));
  }
  return false;
}

void GraphImporter::ImportGraph(const onnx::GraphProto& proto, GraphFrame& frame, NameScope& scope,
                                bool fixed_initializers, onnx::GraphProto* consumed) {
  frame.graph->name = proto.name();
  frame.graph->doc_string = proto.doc_string();
  frame.graph->metadata = MetadataFrom(proto);
  const Types types = DeclaredTypes(proto);
  DeclareInputs(proto, frame, scope);
  DeclareInitializers(proto, frame, scope, fixed_initializers, consumed);
  DeclareNodes(proto.node(), {}, types, frame, scope);
  ImportNodes(proto.node(), frame, scope);
  DeclareOutputs(proto, frame, scope);
  for (const auto& info : proto.value_info()) {
    const auto it = scope.values.find(info.name());
    if (it == scope.values.end()) continue;
    GraphEdit(*frame.graph).doc_string(it->second) = info.doc_string();
    GraphEdit(*frame.graph).metadata(it->second) = MetadataFrom(info);
  }
}

GraphImporter::Types GraphImporter::DeclaredTypes(const onnx::GraphProto& proto) {
  Types types;
  const auto add = [&](const onnx::ValueInfoProto& info) {
    absl::StatusOr<Type> type = CheckedTypeFromProto(info.type(), options_.max_rank);
    if (!type.ok()) return problems_.Add(ValueContext(info.name()), type.status());
    if (type->kind != Type::Kind::kUnknown) types[info.name()] = *std::move(type);
  };
  for (const auto& info : proto.value_info()) add(info);
  for (const auto& info : proto.output()) add(info);
  return types;
}

void GraphImporter::DeclareInputs(const onnx::GraphProto& proto, GraphFrame& frame,
                                  NameScope& scope) {
  for (const auto& info : proto.input()) {
    if (info.name().empty()) {
      problems_.Invalid(absl::StrCat("graph '", files::PrintableUtf8(proto.name()),
                                     "' has an input without a name"));
      continue;
    }
    absl::StatusOr<Type> type = CheckedTypeFromProto(info.type(), options_.max_rank);
    if (!type.ok()) problems_.Add(ValueContext(info.name()), type.status());
    if (!CheckName("graph input: ", info.name())) continue;
    if (scope.values.contains(info.name())) {
      problems_.Invalid(
          absl::StrCat("input '", files::PrintableUtf8(info.name()), "' is listed twice"));
      continue;
    }
    const ValueId id =
        GraphEdit(*frame.graph)
            .AddInput(frame.NewName(info.name()), type.ok() ? *std::move(type) : Type());
    scope.values.emplace(info.name(), id);
    GraphEdit(*frame.graph).doc_string(id) = info.doc_string();
    GraphEdit(*frame.graph).metadata(id) = MetadataFrom(info);
  }
}

void GraphImporter::DeclareInitializers(const onnx::GraphProto& proto, GraphFrame& frame,
                                        NameScope& scope, bool fixed_initializers,
                                        onnx::GraphProto* consumed) {
  for (int i = 0; i < proto.initializer_size(); ++i) {
    const onnx::TensorProto& tensor = proto.initializer(i);
    DeclareInitializer(tensor.name(), TensorFromProto(tensor, source_), frame, scope,
                       fixed_initializers);
    if (consumed != nullptr) *consumed->mutable_initializer(i) = onnx::TensorProto();
  }
  for (const auto& tensor : proto.sparse_initializer()) {
    DeclareInitializer(tensor.values().name(), TensorFromSparseProto(tensor, source_), frame, scope,
                       fixed_initializers);
  }
}

void GraphImporter::DeclareInitializer(const std::string& name, absl::StatusOr<Tensor> tensor,
                                       GraphFrame& frame, NameScope& scope,
                                       bool fixed_initializers) {
  const std::string where = absl::StrCat("initializer '", files::PrintableUtf8(name), "': ");
  if (!tensor.ok()) return problems_.Add(where, tensor.status());
  if (name.empty()) return problems_.Invalid("an initializer has no name");
  if (!CheckName("initializer: ", name)) return;
  const auto it = scope.values.find(name);
  if (it == scope.values.end()) {
    scope.values.emplace(
        name, GraphEdit(*frame.graph).AddConstant(frame.NewName(name), *std::move(tensor)));
    return;
  }
  const ValueId id = it->second;
  if (frame.graph->is_constant(id)) return problems_.Invalid(where + "is listed twice");
  GraphEdit edit(*frame.graph);
  Type& declared = edit.type(id);
  const Type type = Type::Tensor(tensor->dtype(), tensor->dims());
  if (!type.CompatibleWith(declared)) {
    return problems_.Invalid(absl::StrCat(where, "is ", type.ToString(), ", its input is declared ",
                                          declared.ToString()));
  }
  if (fixed_initializers || declared.kind == Type::Kind::kUnknown) declared = type;
  edit.constant(id) = *std::move(tensor);
  if (fixed_initializers) edit.RemoveInput(id);
}

void GraphImporter::DeclareNodes(const Nodes& nodes, const Targets& targets, const Types& types,
                                 GraphFrame& frame, NameScope& scope) {
  for (const auto& node : nodes) {
    for (const std::string& name : node.output()) {
      if (name.empty() || !CheckName(Describe(node), name)) continue;
      if (scope.values.contains(name)) {
        problems_.Invalid(absl::StrCat(Describe(node), "its output '", files::PrintableUtf8(name),
                                       "' is already defined: a value has one definition"));
        continue;
      }
      const auto target = targets.find(name);
      const ValueId wanted = target == targets.end() ? ValueId() : target->second;
      if (node.op_type() == "Constant" && DeclareConstant(node, wanted, frame, scope)) continue;
      const auto type = types.find(name);
      const ValueId id = wanted.valid()
                             ? wanted
                             : GraphEdit(*frame.graph)
                                   .AddValue(frame.NewName(absl::StrCat(scope.prefix, name)),
                                             type == types.end() ? Type() : type->second);
      scope.values.emplace(name, id);
    }
  }
}

bool GraphImporter::DeclareConstant(const onnx::NodeProto& proto, ValueId target, GraphFrame& frame,
                                    NameScope& scope) {
  if (!NormalDomain(proto.domain()).empty() || proto.attribute_size() != 1 ||
      proto.output_size() != 1 || proto.input_size() != 0) {
    return false;
  }
  const BoundAttribute bound = Bind(proto.attribute(0), scope);
  if (bound.proto == nullptr) return false;
  const std::string where = absl::StrCat(Describe(proto), "attribute '",
                                         files::PrintableUtf8(proto.attribute(0).name()), "' ");
  absl::StatusOr<Tensor> tensor = ConstantFromAttribute(*bound.proto, source_);
  if (!tensor.ok()) {
    problems_.Add(where, tensor.status());
    tensor = Tensor(DType::kFloat32, {0});
  }
  scope.constants.insert(&proto);
  if (target.valid()) {
    GraphEdit edit(*frame.graph);
    edit.type(target) = Type::Tensor(tensor->dtype(), tensor->dims());
    edit.constant(target) = *std::move(tensor);
  } else {
    target = GraphEdit(*frame.graph)
                 .AddConstant(frame.NewName(absl::StrCat(scope.prefix, proto.output(0))),
                              *std::move(tensor));
  }
  scope.values.emplace(proto.output(0), target);
  return true;
}

void GraphImporter::DeclareOutputs(const onnx::GraphProto& proto, GraphFrame& frame,
                                   const NameScope& scope) {
  for (const auto& info : proto.output()) {
    bool found = false;
    const ValueId id = Resolve(info.name(), scope, frame, found);
    if (!found || !id.valid()) {
      problems_.Invalid(absl::StrCat("graph '", files::PrintableUtf8(proto.name()),
                                     "' has the output '", files::PrintableUtf8(info.name()),
                                     "', which nothing produces"));
      continue;
    }
    GraphEdit(*frame.graph).AddOutput(id);
    GraphEdit edit(*frame.graph);
    if (edit.doc_string(id).empty()) edit.doc_string(id) = info.doc_string();
    if (edit.metadata(id).empty()) edit.metadata(id) = MetadataFrom(info);
  }
}

}  // namespace onward::onnx_io
