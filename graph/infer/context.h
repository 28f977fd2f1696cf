// onnx::InferenceContext over a node of our graph.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/infer/infer.h"
#include "onnx/defs/shape_inference.h"
#include "onnx/onnx_pb.h"

namespace onward {

// Infers the body of a control-flow node for the given input types; captures take their outer
// types. Errors of the body leave through `status` and an onnx::InferenceError.
class BodyInferencer : public onnx::GraphInferencer {
 public:
  BodyInferencer(const Graph& outer, Subgraph& subgraph, const KnownElements& known,
                 absl::Status* status)
      : outer_(outer), subgraph_(subgraph), known_(known), status_(status) {}

  std::vector<const onnx::TypeProto*> doInferencing(
      const std::vector<const onnx::TypeProto*>& input_types,
      const std::vector<const onnx::TensorProto*>& input_data) override;

 private:
  absl::Status Infer(const std::vector<const onnx::TypeProto*>& input_types);

  const Graph& outer_;
  Subgraph& subgraph_;
  const KnownElements& known_;
  absl::Status* status_;
  // Symbols that mean the same outside: those of the given types and of the captures.
  std::set<std::string> shared_symbols_;
  std::deque<onnx::TypeProto> output_types_;
};

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

  // What went wrong inside a body, if anything.
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
