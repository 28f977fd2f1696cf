// Model-local functions: a call becomes the nodes of the function's body.
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/utf8.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/opset.h"
#include "onnx/defs/schema.h"
#include "onnx_io/import_attributes.h"
#include "onnx_io/import_graph.h"

namespace onward::onnx_io {
namespace {

using onnx::FunctionProto;
using Functions = std::map<std::string, const FunctionProto*>;

std::string Key(const std::string& domain, const std::string& name, const std::string& overload) {
  return absl::StrCat(NormalDomain(domain), ":", name, ":", overload);
}

std::string FunctionName(const FunctionProto& function) {
  return absl::StrCat("function '", files::PrintableUtf8(function.domain()), ".",
                      files::PrintableUtf8(function.name()), "'");
}

// Finds a cycle among functions by depth-first search. `path` has the functions being visited.
class CycleSearch {
 public:
  CycleSearch(const Functions& functions, int max_depth)
      : functions_(functions), max_depth_(max_depth) {}

  // Empty, or what is wrong with a chain of calls from `function`.
  std::string Visit(const FunctionProto& function) {
    if (done_.contains(&function)) return "";
    for (size_t i = 0; i < path_.size(); ++i) {
      if (path_[i] == &function) return Chain(i) + " -> " + FunctionName(function);
    }
    if (static_cast<int>(path_.size()) >= max_depth_) {
      return absl::StrCat("calls of functions are nested deeper than the limit of ", max_depth_);
    }
    path_.push_back(&function);
    std::string found = VisitNodes(function.node());
    path_.pop_back();
    done_.insert(&function);
    return found;
  }

 private:
  template <typename Nodes>
  std::string VisitNodes(const Nodes& nodes) {
    for (const onnx::NodeProto& node : nodes) {
      const auto it = functions_.find(Key(node.domain(), node.op_type(), node.overload()));
      if (it != functions_.end()) {
        if (std::string found = Visit(*it->second); !found.empty()) return found;
      }
      for (const auto& attribute : node.attribute()) {
        if (!attribute.has_g()) continue;
        if (std::string found = VisitNodes(attribute.g().node()); !found.empty()) return found;
      }
    }
    return "";
  }

  std::string Chain(size_t first) const {
    std::vector<std::string> names;
    for (size_t i = first; i < path_.size(); ++i) names.push_back(FunctionName(*path_[i]));
    return absl::StrCat("functions call each other in a cycle: ", absl::StrJoin(names, " -> "));
  }

  const Functions& functions_;
  const int max_depth_;
  std::vector<const FunctionProto*> path_;
  std::set<const FunctionProto*> done_;
};

}  // namespace

void GraphImporter::AddFunctions(const onnx::ModelProto& model) {
  for (const FunctionProto& function : model.functions()) {
    const std::string key = Key(function.domain(), function.name(), function.overload());
    if (!functions_.emplace(key, &function).second) {
      problems_.Invalid(FunctionName(function) + " is defined twice");
      continue;
    }
    // Where a function does not say, it means the model's opsets.
    Opsets opsets = OpsetsFrom(function);
    for (const auto& [domain, version] : OpsetsFrom(model)) opsets.emplace(domain, version);
    function_opsets_.emplace(&function, std::move(opsets));
  }
  CycleSearch search(functions_, options_.max_function_depth);
  for (const FunctionProto& function : model.functions()) {
    if (std::string found = search.Visit(function); !found.empty()) {
      problems_.Invalid(std::move(found));
      functions_.clear();
      return;
    }
  }
}

const FunctionProto* GraphImporter::FindFunction(const onnx::NodeProto& proto,
                                                 const NameScope& scope) const {
  if (functions_.empty()) return nullptr;
  const auto it = functions_.find(Key(proto.domain(), proto.op_type(), proto.overload()));
  if (it == functions_.end()) return nullptr;
  // Bodies of our own ops are for other runtimes.
  if (proto.domain() == kOnwardDomain &&
      onnx::OpSchemaRegistry::Schema(proto.op_type(), kOnwardDomain) != nullptr &&
      scope.opsets->contains(kOnwardDomain)) {
    return nullptr;
  }
  return it->second;
}

void GraphImporter::ImportCall(const onnx::NodeProto& proto, const FunctionProto& function,
                               GraphFrame& frame, NameScope& scope) {
  if (proto.input_size() > function.input_size() || proto.output_size() > function.output_size()) {
    return problems_.Invalid(absl::StrCat(
        Describe(proto), "has ", proto.input_size(), " inputs and ", proto.output_size(),
        " outputs, its function has ", function.input_size(), " and ", function.output_size()));
  }
  if (calls_ >= options_.max_function_depth) {
    return problems_.Invalid(absl::StrCat(Describe(proto),
                                          "calls of functions are nested deeper than the limit of ",
                                          options_.max_function_depth));
  }
  std::map<std::string, BoundAttribute> attributes;
  for (const auto& fallback : function.attribute_proto()) {
    attributes[fallback.name()] = {&fallback, &scope};
  }
  for (const auto& attribute : proto.attribute()) {
    const BoundAttribute bound = Bind(attribute, scope);
    if (bound.proto != nullptr) attributes[attribute.name()] = bound;
  }
  const std::vector<ValueId> inputs = ResolveInputs(proto, frame, scope);
  std::vector<ValueId> outputs;
  for (const std::string& name : proto.output()) {
    const auto it = scope.values.find(name);
    outputs.push_back(name.empty() || it == scope.values.end() ? ValueId() : it->second);
  }
  const std::string own = proto.name().empty() ? proto.op_type() : proto.name();
  ++calls_;
  ImportBody(function, inputs, outputs, attributes, function_opsets_.at(&function), {},
             absl::StrCat(scope.prefix, own, "/"), frame);
  --calls_;
}

void GraphImporter::ImportBody(const FunctionProto& function, const std::vector<ValueId>& inputs,
                               const std::vector<ValueId>& outputs,
                               const std::map<std::string, BoundAttribute>& attributes,
                               const Opsets& opsets, const std::map<std::string, ValueId>& visible,
                               std::string prefix, GraphFrame& frame) {
  NameScope scope;
  scope.frame = &frame;
  scope.opsets = &opsets;
  scope.prefix = std::move(prefix);
  scope.attributes = &attributes;
  scope.values.insert(visible.begin(), visible.end());
  for (int i = 0; i < function.input_size(); ++i) {
    const auto index = static_cast<size_t>(i);
    const ValueId id = index < inputs.size() ? inputs[index] : ValueId();
    if (!scope.values.emplace(function.input(i), id).second) {
      problems_.Invalid(absl::StrCat(FunctionName(function), " has the input '",
                                     files::PrintableUtf8(function.input(i)), "' twice"));
    }
  }
  // An output that the body does not compute itself, because it is an input or listed twice, is a
  // copy.
  Targets targets;
  std::vector<std::pair<std::string, ValueId>> copies;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = function.output(static_cast<int>(i));
    if (!outputs[i].valid()) continue;
    if (scope.values.contains(name) || !targets.emplace(name, outputs[i]).second) {
      copies.emplace_back(name, outputs[i]);
    }
  }
  DeclareNodes(function.node(), targets, {}, frame, scope);
  ImportNodes(function.node(), frame, scope);
  for (const auto& [name, target] : targets) {
    if (!scope.values.contains(name)) copies.emplace_back(name, target);
  }
  const auto version = opsets.find("");
  for (const auto& [name, target] : copies) {
    const auto it = scope.values.find(name);
    if (it == scope.values.end() || !it->second.valid()) {
      problems_.Invalid(absl::StrCat(FunctionName(function), " has the output '",
                                     files::PrintableUtf8(name), "', which nothing produces"));
      continue;
    }
    Node copy;
    copy.op_type = "Identity";
    copy.schema = onnx::OpSchemaRegistry::Schema(
        "Identity",
        version == opsets.end() ? static_cast<int>(kOpset) : static_cast<int>(version->second));
    copy.name = absl::StrCat(scope.prefix, name);
    copy.inputs = {it->second};
    copy.outputs = {target};
    if (problems_.count() == 0) GraphEdit(*frame.graph).AddNode(std::move(copy));
  }
}

}  // namespace onward::onnx_io
