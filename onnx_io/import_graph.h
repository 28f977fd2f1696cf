// GraphProto -> Graph: nodes with their schemas, subgraphs with explicit captures, and calls of
// model-local functions replaced by the functions' bodies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"
#include "onnx_io/import_scope.h"
#include "onnx_io/problems.h"
#include "onnx_io/tensor_proto.h"
#include "onward/graph.h"
#include "onward/import.h"

namespace onward::onnx_io {

// "[Softmax 'sm_3'] "; a nameless node is described by its first output.
std::string Describe(const onnx::NodeProto& node);
// "" for "ai.onnx" too.
std::string NormalDomain(const std::string& domain);
std::string DomainName(const std::string& domain);  // "ai.onnx" for ""

class GraphImporter {
 public:
  // All must outlive the importer. Problems are added to `problems`; with any, the graph built is
  // of no use.
  GraphImporter(const ImportOptions& options, const TensorSource& source, Problems& problems)
      : options_(options), source_(source), problems_(problems) {}

  // Model-local functions, callable from everywhere. Reports duplicates, and cycles among them.
  void AddFunctions(const onnx::ModelProto& model);

  // Fills frame.graph. Initializers that are inputs too become plain constants when
  // `fixed_initializers` (the rule before IR 4), else defaults of optional inputs. With `consumed`,
  // which is then `proto` itself, initializers are cleared as soon as they are read.
  void ImportGraph(const onnx::GraphProto& proto, GraphFrame& frame, NameScope& scope,
                   bool fixed_initializers, onnx::GraphProto* consumed = nullptr);

  // Adds the nodes of `function` to frame.graph, for a node that stands for it. Inputs and outputs
  // are values of that graph; invalid ids are omitted ones. `visible` are further names that the
  // body may read.
  void ImportBody(const onnx::FunctionProto& function, const std::vector<ValueId>& inputs,
                  const std::vector<ValueId>& outputs,
                  const std::map<std::string, BoundAttribute>& attributes, const Opsets& opsets,
                  const std::map<std::string, ValueId>& visible, std::string prefix,
                  GraphFrame& frame);

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  using Targets = std::map<std::string, ValueId>;
  using Types = HashMap<std::string, Type>;

  Types DeclaredTypes(const onnx::GraphProto& proto);
  void DeclareInputs(const onnx::GraphProto& proto, GraphFrame& frame, NameScope& scope);
  void DeclareInitializers(const onnx::GraphProto& proto, GraphFrame& frame, NameScope& scope,
                           bool fixed_initializers, onnx::GraphProto* consumed);
  void DeclareInitializer(const std::string& name, absl::StatusOr<Tensor> tensor, GraphFrame& frame,
                          NameScope& scope, bool fixed_initializers);
  // Values for all outputs of `nodes`: those of `targets` where the name is there.
  void DeclareNodes(const Nodes& nodes, const Targets& targets, const Types& types,
                    GraphFrame& frame, NameScope& scope);
  // Returns whether the node is a Constant, which is a value rather than a node here.
  bool DeclareConstant(const onnx::NodeProto& proto, ValueId target, GraphFrame& frame,
                       NameScope& scope);
  void ImportNodes(const Nodes& nodes, GraphFrame& frame, NameScope& scope);
  void ImportNode(const onnx::NodeProto& proto, GraphFrame& frame, NameScope& scope);
  void ImportCall(const onnx::NodeProto& proto, const onnx::FunctionProto& function,
                  GraphFrame& frame, NameScope& scope);
  void ImportAttributes(const onnx::NodeProto& proto, Node& node, GraphFrame& frame,
                        const NameScope& scope);
  void ImportSubgraph(const onnx::GraphProto& proto, const std::string& attribute, Node& node,
                      GraphFrame& frame, const NameScope& names);
  void DeclareOutputs(const onnx::GraphProto& proto, GraphFrame& frame, const NameScope& scope);
  std::vector<ValueId> ResolveInputs(const onnx::NodeProto& proto, GraphFrame& frame,
                                     const NameScope& scope);
  // Resolves an attribute: itself, or what its reference stands for; null proto when that is
  // absent.
  BoundAttribute Bind(const onnx::AttributeProto& proto, const NameScope& scope) const;
  void FindSchema(const onnx::NodeProto& proto, const NameScope& scope, Node& node);
  void CheckArity(const onnx::NodeProto& proto, const Node& node);
  const onnx::FunctionProto* FindFunction(const onnx::NodeProto& proto,
                                          const NameScope& scope) const;
  bool CheckName(std::string_view where, const std::string& name);
  bool CountNode();

  const ImportOptions& options_;
  const TensorSource& source_;
  Problems& problems_;
  std::map<std::string, const onnx::FunctionProto*> functions_;
  std::map<const onnx::FunctionProto*, Opsets> function_opsets_;
  int64_t nodes_ = 0;
  int calls_ = 0;  // that are being expanded
};

// The metadata_props of a proto.
template <typename Proto>
Metadata MetadataFrom(const Proto& proto) {
  Metadata metadata;
  for (const auto& entry : proto.metadata_props()) metadata[entry.key()] = entry.value();
  return metadata;
}

// The opset_import of a model or function.
template <typename Proto>
Opsets OpsetsFrom(const Proto& proto) {
  Opsets opsets;
  for (const auto& id : proto.opset_import()) {
    opsets[NormalDomain(id.domain())] = id.version();
  }
  return opsets;
}

}  // namespace onward::onnx_io
