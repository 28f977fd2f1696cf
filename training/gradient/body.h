// Bodies of control flow: copied, differentiated, written anew.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/expr.h"
#include "onward/gradient.h"

namespace onward::gradient {

// Copies what computes values of one graph into another.
class GraphCopier {
 public:
  // `map`: by value index of `from`, the value of `to` that stands for it. Inputs and captures must
  // be mapped; what is mapped is not computed again.
  GraphCopier(const Graph& from, Graph& to, std::vector<ValueId> map)
      : from_(from), to_(to), map_(std::move(map)) {
    map_.resize(static_cast<size_t>(from.num_values()));
  }

  absl::Status CopyNodes();
  // The copy of a value; constants are copied when they are asked for.
  ValueId Of(ValueId id);
  std::vector<ValueId> TakeMap() { return std::move(map_); }

 private:
  const Graph& from_;
  Graph& to_;
  std::vector<ValueId> map_;
};

// A new body.
class BodyWriter {
 public:
  // `outer`: the graph of the node that will own the body.
  explicit BodyWriter(const Graph& outer)
      : outer_(outer), graph_(std::make_unique<Graph>()), sink_(*graph_, "backward/") {}

  GraphSink& sink() { return sink_; }
  Graph& graph() { return *graph_; }
  Expr Input(const std::string& name, Type type);
  Expr Capture(ValueId outer);
  // Behind an Identity where the value cannot be an output as it is.
  void Output(const Expr& value);
  Subgraph Take(std::string attribute);

 private:
  const Graph& outer_;
  std::unique_ptr<Graph> graph_;
  GraphSink sink_;
  std::vector<ValueId> captures_;
};

// A body together with its gradients, with nothing in it that they do not need. Everything it reads
// is an input of `graph`: what the body reads, and the cotangents.
struct BodyGradient {
  std::unique_ptr<Graph> graph;
  std::vector<ValueId> copies;      // by value index of the body
  std::vector<ValueId> cotangents;  // in the order of the targets
  std::vector<ValueId> gradients;   // in the order of `wrt`; invalid where there is no path
  // Results of random nodes, which would be drawn anew: value of the body, input of `graph`.
  std::vector<std::pair<ValueId, ValueId>> drawn;

  // Returns whether the gradients need the copy of a value of the body.
  bool Needs(ValueId body_value) const;
};

// Names of new values begin with `prefix`.
absl::StatusOr<BodyGradient> DifferentiateBody(const Graph& body, absl::Span<const ValueId> targets,
                                               absl::Span<const ValueId> wrt,
                                               const GradientOptions& options,
                                               const std::string& prefix = "backward/");

// Returns whether a node of the graph, or of a body in it, draws random numbers.
bool HoldsRandom(const Graph& graph);

// Gives the Dropout nodes of the node's bodies the masks that their gradients read.
void GiveMasks(const GradientScope& scope);

// The type of the gradient of a value of type `type`.
Type CotangentType(const Type& type);

// Declares that a value has the shape of `type`, where the value's own type says less.
void Refine(Graph& graph, ValueId id, const Type& type);

// A node like `node` without inputs, outputs and subgraphs.
Node NodeLike(const Node& node);

// Replaces the node by one with `subgraphs` and `extra_inputs`, whose outputs are those of before,
// omitted ones added, and new ones: `inserted` of them after the first `at`, `appended` at the end.
// Returns all outputs.
absl::StatusOr<std::vector<ValueId>> ReplaceNode(GraphSink& sink, NodeId id,
                                                 std::vector<Subgraph> subgraphs,
                                                 const std::vector<ValueId>& extra_inputs,
                                                 size_t at, size_t inserted, size_t appended);

}  // namespace onward::gradient
