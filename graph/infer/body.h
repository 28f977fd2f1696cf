// Inference of the bodies of control-flow nodes.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "onnx/defs/shape_inference.h"
#include "onnx/onnx_pb.h"
#include "onward/graph.h"

namespace onward {

// Infers the body of a control-flow node for the given input types; captures take their outer
// types. Errors of the body leave through `status` and an onnx::InferenceError.
class BodyInferencer : public onnx::GraphInferencer {
 public:
  BodyInferencer(const Graph& outer, Subgraph& subgraph, const KnownElements& known,
                 absl::Status* status)
      : outer_(outer), subgraph_(subgraph), known_(known), status_(status) {}

  // The values of a Loop that its first iteration gets as the body's inputs 2, 3, ...
  void SetCarried(std::vector<ValueId> initial) { initial_ = std::move(initial); }

  std::vector<const onnx::TypeProto*> doInferencing(
      const std::vector<const onnx::TypeProto*>& input_types,
      const std::vector<const onnx::TensorProto*>& input_data) override;

  // After doInferencing: the outputs' types as far as the outer graph may know them.
  const std::vector<Type>& outputs() const { return outputs_; }
  // After doInferencing, of a Loop: types that the carried values have in every iteration and
  // afterwards; nullopt when none were found.
  const std::optional<std::vector<Type>>& carried() const { return carried_; }

 private:
  absl::Status Infer(Graph& body, const std::vector<Type>& input_types, KnownElements known);
  std::optional<std::vector<Type>> FindCarried(std::vector<Type> input_types);
  // Infers a copy of the body for `types`, given to its last inputs, and widens what does not hold
  // in the next iteration. True when nothing had to be widened.
  absl::StatusOr<bool> Widen(const std::vector<Type>& input_types, bool first, bool last,
                             std::vector<Type>& types);

  const Graph& outer_;
  Subgraph& subgraph_;
  const KnownElements& known_;
  absl::Status* status_;
  std::vector<ValueId> initial_;
  // Symbols that mean the same outside: those of the given types and of the captures.
  std::set<std::string> shared_symbols_;
  std::vector<Type> outputs_;
  std::optional<std::vector<Type>> carried_;
  std::deque<onnx::TypeProto> output_types_;
};

}  // namespace onward
