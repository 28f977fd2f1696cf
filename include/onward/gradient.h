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
#include "onward/expr.h"
#include "onward/functions.h"
#include "onward/graph.h"

namespace onward {

struct GradientOptions {
  // Rules may use ops of the domain `onward`, for speed or where the standard has no way. Without,
  // any runtime can run the result.
  bool allow_onward_ops = false;
  // Values through which no gradient flows, as if they were inputs.
  std::vector<ValueId> stop_at = {};
};

// A node as its gradient rule sees it.
class GradientScope {
 public:
  // `upstream`: by output; `wanted`: by operand.
  GradientScope(GraphSink& sink, NodeId id, const std::vector<Expr>& upstream,
                const std::vector<bool>& wanted, const GradientOptions& options)
      : sink_(sink), id_(id), upstream_(upstream), wanted_(wanted), options_(options) {}

  NodeId id() const { return id_; }
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
  // The gradient of output i; omitted when nothing depends on it. Of a sequence it is a sequence of
  // equal length, of an optional the gradient of its element.
  const Expr& upstream(int i) const {
    static const Expr* omitted = new Expr();
    return static_cast<size_t>(i) < upstream_.size() ? upstream_[static_cast<size_t>(i)] : *omitted;
  }
  // Returns whether somebody wants the gradient of operand i: of input i or, from num_inputs() on,
  // of what the subgraphs capture. A rule may compute others too; what nobody reads is removed.
  bool wants(int i) const {
    return static_cast<size_t>(i) < wanted_.size() && wanted_[static_cast<size_t>(i)];
  }
  bool allow_onward_ops() const { return options_.allow_onward_ops; }
  const GradientOptions& options() const { return options_; }
  GraphSink& sink() const { return sink_; }

 private:
  GraphSink& sink_;
  NodeId id_;
  const std::vector<Expr>& upstream_;
  const std::vector<bool>& wanted_;
  const GradientOptions& options_;
};

// The gradients of the inputs, in order, then those of the captures of the node's subgraphs, one
// subgraph after the other; an omitted one says that the operand gets none, and so do missing ones
// at the end. A gradient may have the shape of the output where the input was broadcast.
// Unimplemented: this node cannot be differentiated, with the reason.
using GradientRule = absl::StatusOr<std::vector<Expr>> (*)(const GradientScope& scope);

// Adds the rule of a custom op (onward/custom_ops.h), for the life of the process; null: it has
// no gradient by its nature. Thread-safe.
void RegisterGradient(std::string_view domain, std::string_view op, GradientRule rule);

// A value to differentiate, with the gradient that flows into it: a value of its type; invalid:
// one, for a value of one element.
struct GradientTarget {
  ValueId value;
  ValueId cotangent;
};

// Adds to `graph` the gradients of sum_i <targets[i].value, targets[i].cotangent> with respect to
// `wrt` (inputs, constants or any other values) and returns them in that order, each with the type
// of what it differentiates; a value without a path to a target gets zeros. Existing values keep
// their ids and meaning; on the paths, nodes without a rule become their formula or function body,
// and loops get outputs for the states that their gradient needs. Where the file of an import says
// that its PyTorch source detaches, no gradient passes (training/source/stop_gradients.h). Time and
// nodes are linear in the graph. Errors name the node, the reason and the path: Unimplemented for
// an op without rule on a path, InvalidArgument for a target or a value that cannot be
// differentiated.
absl::StatusOr<std::vector<ValueId>> AddGradients(Graph& graph,
                                                  absl::Span<const GradientTarget> targets,
                                                  absl::Span<const ValueId> wrt,
                                                  const GradientOptions& options = {});

// The same for `loss`, a float of one element.
absl::StatusOr<std::vector<ValueId>> AddGradients(Graph& graph, ValueId loss,
                                                  absl::Span<const ValueId> wrt,
                                                  const GradientOptions& options = {});

}  // namespace onward
