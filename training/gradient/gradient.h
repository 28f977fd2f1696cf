// Reverse-mode differentiation as a rewrite: the forward graph gains the nodes that compute
// gradients.
//
// Rules are rows of a table per family (training/gradient/<family>.cc), written with Expr in ONNX
// ops. The driver sums contributions and undoes broadcasting, so rules do neither. It walks nodes
// once, in reverse order, without recursion.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/builder/expr.h"
#include "graph/builder/functions.h"
#include "graph/ir/graph.h"

namespace onward {

// What a rule sees of its node.
class GradientScope {
 public:
  GradientScope(GraphSink& sink, NodeId id, const std::vector<Expr>& upstream)
      : sink_(sink), id_(id), upstream_(upstream) {}

  const Node& node() const { return sink_.graph().node(id_); }
  const Attributes& attributes() const { return node().attributes; }
  int num_inputs() const { return static_cast<int>(node().inputs.size()); }
  bool has_input(int i) const {
    return i < num_inputs() && node().inputs[static_cast<size_t>(i)].valid();
  }
  Expr input(int i) const {
    return has_input(i) ? sink_.Value(node().inputs[static_cast<size_t>(i)]) : Expr();
  }
  Expr output(int i) const { return sink_.Value(node().outputs[static_cast<size_t>(i)]); }
  // The gradient of output i; omitted when nothing depends on it.
  const Expr& upstream(int i) const { return upstream_[static_cast<size_t>(i)]; }
  GraphSink& sink() const { return sink_; }

 private:
  GraphSink& sink_;
  NodeId id_;
  const std::vector<Expr>& upstream_;
};

// The gradients of the inputs, in order; an omitted one says that the input gets none. A gradient
// may have the shape of the output where the input was broadcast. Unimplemented: this node cannot
// be differentiated, with the reason.
using GradientRule = absl::StatusOr<std::vector<Expr>> (*)(const GradientScope& scope);

struct GradientEntry {
  std::string_view op;
  GradientRule
      rule;  // null: the op has no gradient by its nature (Shape, comparisons): inputs get none
};

// Every rule, by op of ai.onnx.
const std::vector<GradientEntry>& GradientRules();

// The rule of an op: nothing when it has none, null when it has no gradient by its nature.
// Thread-safe.
std::optional<GradientRule> FindGradient(std::string_view domain, std::string_view op);

// Adds the rule of a custom op (executors/custom_ops.h), for the life of the process; null: it has
// no gradient by its nature. Thread-safe.
void RegisterGradient(std::string_view domain, std::string_view op, GradientRule rule);

// Adds to `graph` the gradients of `loss` (a float scalar) with respect to `wrt` and returns them
// in that order, each with the type of what it differentiates; a value without a path to the loss
// gets zeros. Errors name the node and the reason: Unimplemented for an op without rule on a path,
// InvalidArgument for a loss or a value that cannot be differentiated.
absl::StatusOr<std::vector<ValueId>> AddGradients(Graph& graph, ValueId loss,
                                                  absl::Span<const ValueId> wrt);

}  // namespace onward
