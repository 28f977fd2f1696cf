// onnx::InferenceContext over a node of our graph.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/infer/body.h"
#include "onnx/defs/shape_inference.h"
#include "onnx/onnx_pb.h"
#include "onward/graph.h"

namespace onward {

class NodeInferenceContext : public onnx::InferenceContext {
 public:
  // Refers to all three for its lifetime.
  NodeInferenceContext(Graph& graph, NodeId id, const KnownElements& known);

  const onnx::AttributeProto* getAttribute(const std::string& name) const override;
  size_t getNumInputs() const override { return node_.inputs.size(); }
  const onnx::TypeProto* getInputType(size_t index) const override;
  bool hasInput(size_t index) const override;
  const onnx::TensorProto* getInputData(size_t index) const override;
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t index) const override;
  size_t getNumOutputs() const override { return node_.outputs.size(); }
  onnx::TypeProto* getOutputType(size_t index) override;
  bool hasOutput(size_t index) override;
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override;
  std::string getDisplayName() const override { return ""; }

  // After the schema's inference function: infers the bodies that it did not ask for, from the
  // types that they declare for their inputs.
  absl::Status InferOtherBodies();

  // Instead of the schema's inference function: the outputs' types of an If whose condition is
  // known, by the branch that it takes. The other one may be wrong for these inputs: exporters
  // write `if size == 1: squeeze`. Nullopt for other nodes.
  std::optional<std::vector<Type>> InferTakenBranch();

  // After the schema's inference function, which knows only the dtypes of what a Loop carries: what
  // of their shapes holds in every iteration.
  void CompleteCarried(std::vector<Type>& types) const;

  // The error inside a body, if any.
  const absl::Status& body_status() const { return body_status_; }

 private:
  Graph& graph_;
  Node& node_;
  const KnownElements& known_;
  absl::Status body_status_;
  std::vector<onnx::TypeProto> input_types_;
  std::vector<onnx::TypeProto> output_types_;
  // Converted when first asked for.
  mutable std::map<std::string, onnx::AttributeProto> attributes_;
  mutable std::map<size_t, onnx::TensorProto> input_data_;
  mutable std::map<size_t, onnx::TensorShapeProto> symbolic_inputs_;
  std::map<std::string, std::unique_ptr<BodyInferencer>> bodies_;
};

}  // namespace onward
