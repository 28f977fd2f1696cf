// If. Loops are in loop.cc, Scan in scan.cc.
#include "training/gradient/control_flow.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "graph/ir/graph_edit.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/gradient/body.h"
#include "training/gradient/cotangent.h"
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using Result = absl::StatusOr<std::vector<Expr>>;

// An outer value that a branch captures, each once, with the operand that takes its gradient: both
// branches have gradients of these.
struct Captured {
  std::vector<ValueId> values;
  std::vector<size_t> operands;
};

Captured WantedCaptures(const GradientScope& s) {
  Captured captured;
  size_t operand = s.node().inputs.size();
  for (const Subgraph& subgraph : s.node().subgraphs) {
    for (const ValueId id : subgraph.captures) {
      const bool known =
          std::find(captured.values.begin(), captured.values.end(), id) != captured.values.end();
      if (s.wants(static_cast<int>(operand)) && !known) {
        captured.values.push_back(id);
        captured.operands.push_back(operand);
      }
      ++operand;
    }
  }
  return captured;
}

// A branch, differentiated: its outputs that have a gradient and its captures that want one.
struct Branch {
  const Subgraph* forward = nullptr;
  std::vector<size_t> outputs;  // indices, in the order of the targets
  std::vector<size_t> places;   // of `wrt` among the captured values
  BodyGradient gradient;
  std::vector<ValueId> drawn;  // outputs of the forward If, as gradient.drawn
};

absl::StatusOr<Branch> DifferentiateBranch(const GradientScope& s, const Subgraph& forward,
                                           const Captured& captured) {
  const Graph& body = *forward.graph;
  Branch branch;
  branch.forward = &forward;
  std::vector<ValueId> targets, wrt;
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    if (!s.upstream(static_cast<int>(i)).valid()) continue;
    targets.push_back(body.outputs()[i]);
    branch.outputs.push_back(i);
  }
  for (size_t i = 0; i < forward.captures.size(); ++i) {
    const auto at = std::find(captured.values.begin(), captured.values.end(), forward.captures[i]);
    if (at == captured.values.end()) continue;
    wrt.push_back(body.captures()[i]);
    branch.places.push_back(static_cast<size_t>(at - captured.values.begin()));
  }
  ONWARD_ASSIGN_OR_RETURN(branch.gradient, DifferentiateBody(body, targets, wrt, s.options()));
  return branch;
}

// A stand-in for what the other branch draws.
Expr Nothing(GraphSink& sink, const Type& type) {
  const std::vector<int64_t> dims(type.shape ? type.shape->size() : 0, 1);
  return Reshape(sink.Scalar(0, type.dtype), dims);
}

// The forward If with what its branches draw as further outputs.
absl::Status GiveDrawn(const GradientScope& s, std::vector<Branch>& branches) {
  size_t count = 0;
  for (const Branch& branch : branches) count += branch.gradient.drawn.size();
  if (count == 0) return absl::OkStatus();
  std::vector<Subgraph> extended;
  for (const Branch& branch : branches) {
    auto graph = std::make_unique<Graph>(*branch.forward->graph);
    GraphSink sink(*graph, "saved/");
    for (const Branch& other : branches) {
      for (const auto& [value, input] : other.gradient.drawn) {
        const Expr output = &other == &branch ? Identity(sink.Value(value))
                                              : Nothing(sink, other.forward->graph->type(value));
        ONWARD_RETURN_IF_ERROR(sink.status());
        GraphEdit(*graph).AddOutput(output.id());
      }
    }
    extended.push_back({branch.forward->attribute, std::move(graph), branch.forward->captures});
  }
  // The branches' graphs go with the old node.
  ONWARD_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                          ReplaceNode(s.sink(), s.id(), std::move(extended), {}, 0, 0, count));
  size_t at = outputs.size() - count;
  for (Branch& branch : branches) {
    for (size_t i = 0; i < branch.gradient.drawn.size(); ++i) branch.drawn.push_back(outputs[at++]);
  }
  return absl::OkStatus();
}

// The branch of the backward If: recomputes the branch and returns a gradient for each captured
// value, zeros for those it does not use.
absl::StatusOr<Subgraph> WriteBranch(const GradientScope& s, const Branch& branch,
                                     const Subgraph& forward, const Captured& captured) {
  const Graph& body = *forward.graph;
  const BodyGradient& gradient = branch.gradient;
  BodyWriter writer(s.sink().graph());
  std::vector<ValueId> map(static_cast<size_t>(gradient.graph->num_values()));
  const auto stands_for = [&](ValueId inner, ValueId outer) {
    map[static_cast<size_t>(inner.index)] = writer.Capture(outer).id();
  };
  for (size_t i = 0; i < forward.captures.size(); ++i) {
    const ValueId capture = body.captures()[i];
    if (gradient.Needs(capture))
      stands_for(gradient.copies[static_cast<size_t>(capture.index)], forward.captures[i]);
  }
  for (size_t i = 0; i < branch.outputs.size(); ++i)
    stands_for(gradient.cotangents[i], s.upstream(static_cast<int>(branch.outputs[i])).id());
  for (size_t i = 0; i < branch.drawn.size(); ++i)
    stands_for(gradient.drawn[i].second, branch.drawn[i]);
  GraphCopier copier(*gradient.graph, writer.graph(), std::move(map));
  ONWARD_RETURN_IF_ERROR(copier.CopyNodes());
  std::vector<Expr> results(captured.values.size());
  for (size_t i = 0; i < branch.places.size(); ++i) {
    if (gradient.gradients[i].valid())
      results[branch.places[i]] = writer.sink().Value(copier.Of(gradient.gradients[i]));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].valid()) results[i] = ZeroCotangent(writer.Capture(captured.values[i]));
    ONWARD_RETURN_IF_ERROR(writer.sink().status());
    Refine(writer.graph(), results[i].id(), s.sink().graph().type(captured.values[i]));
    writer.Output(results[i]);
  }
  ONWARD_RETURN_IF_ERROR(writer.sink().status());
  return writer.Take(forward.attribute);
}

Result IfRule(const GradientScope& s) {
  GiveMasks(s);
  const Captured captured = WantedCaptures(s);
  Node node;
  node.op_type = "If";
  node.inputs = {s.node().inputs[0]};
  std::vector<Subgraph> forward;  // the node may be replaced
  for (const Subgraph& subgraph : s.node().subgraphs) {
    forward.push_back(
        {subgraph.attribute, std::make_unique<Graph>(*subgraph.graph), subgraph.captures});
  }
  std::vector<Branch> branches;
  for (const Subgraph& subgraph : forward) {
    ONWARD_ASSIGN_OR_RETURN(Branch branch, DifferentiateBranch(s, subgraph, captured));
    branches.push_back(std::move(branch));
  }
  ONWARD_RETURN_IF_ERROR(GiveDrawn(s, branches));
  for (size_t i = 0; i < branches.size(); ++i) {
    ONWARD_ASSIGN_OR_RETURN(Subgraph backward, WriteBranch(s, branches[i], forward[i], captured));
    node.subgraphs.push_back(std::move(backward));
  }
  const std::vector<Expr> outputs = s.sink().Add(std::move(node), captured.values.size());
  std::vector<Expr> gradients;
  for (size_t i = 0; i < outputs.size(); ++i) {
    gradients.resize(captured.operands[i] + 1);
    gradients[captured.operands[i]] = outputs[i];
  }
  return gradients;
}

constexpr training::GradientEntry kRules[] = {
    {"If", IfRule}, {"Loop", LoopRule}, {"Scan", ScanRule}};

}  // namespace

GradientList ControlFlowGradients() { return kRules; }

}  // namespace onward::gradient
