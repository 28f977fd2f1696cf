// If. Loops are in loop.cc, Scan in scan.cc.
#include "training/gradient/control_flow.h"

#include <algorithm>

#include "graph/base/status.h"
#include "training/gradient/body.h"
#include "training/gradient/cotangent.h"
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using Result = absl::StatusOr<std::vector<Expr>>;

// What both branches' gradients are of: outer values that a branch captures, each once, with the
// operand that takes its gradient.
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

// The branch of the backward If: recomputes the branch and answers a gradient for each captured
// value, zeros for those it does not use.
absl::StatusOr<Subgraph> BackwardBranch(const GradientScope& s, const Subgraph& branch,
                                        const Captured& captured) {
  const Graph& body = *branch.graph;
  std::vector<ValueId> targets, wrt;
  std::vector<size_t> outputs, places;
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    if (!s.upstream(static_cast<int>(i)).valid()) continue;
    targets.push_back(body.outputs()[i]);
    outputs.push_back(i);
  }
  for (size_t i = 0; i < branch.captures.size(); ++i) {
    const auto at = std::find(captured.values.begin(), captured.values.end(), branch.captures[i]);
    if (at == captured.values.end()) continue;
    wrt.push_back(body.captures()[i]);
    places.push_back(static_cast<size_t>(at - captured.values.begin()));
  }
  ONWARD_ASSIGN_OR_RETURN(BodyGradient gradient,
                          DifferentiateBody(body, targets, wrt, s.options()));
  if (!gradient.drawn.empty()) {
    return absl::UnimplementedError(
        "a branch draws random numbers, which its gradient needs again");
  }
  BodyWriter writer(s.sink().graph());
  std::vector<ValueId> map(static_cast<size_t>(gradient.graph->num_values()));
  for (size_t i = 0; i < branch.captures.size(); ++i) {
    if (!gradient.Needs(body.captures()[i])) continue;
    const ValueId copy = gradient.copies[static_cast<size_t>(body.captures()[i].index)];
    map[static_cast<size_t>(copy.index)] = writer.Capture(branch.captures[i]).id();
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    map[static_cast<size_t>(gradient.cotangents[i].index)] =
        writer.Capture(s.upstream(static_cast<int>(outputs[i])).id()).id();
  }
  GraphCopier copier(*gradient.graph, writer.graph(), std::move(map));
  ONWARD_RETURN_IF_ERROR(copier.CopyNodes());
  std::vector<Expr> results(captured.values.size());
  for (size_t i = 0; i < wrt.size(); ++i) {
    if (gradient.gradients[i].valid())
      results[places[i]] = writer.sink().Value(copier.Of(gradient.gradients[i]));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].valid()) results[i] = ZeroCotangent(writer.Capture(captured.values[i]));
    ONWARD_RETURN_IF_ERROR(writer.sink().status());
    Refine(writer.graph(), results[i].id(), s.sink().graph().type(captured.values[i]));
    writer.Output(results[i]);
  }
  ONWARD_RETURN_IF_ERROR(writer.sink().status());
  return writer.Take(branch.attribute);
}

Result IfRule(const GradientScope& s) {
  const Captured captured = WantedCaptures(s);
  Node node;
  node.op_type = "If";
  node.inputs = {s.node().inputs[0]};
  for (const Subgraph& branch : s.node().subgraphs) {
    ONWARD_ASSIGN_OR_RETURN(Subgraph backward, BackwardBranch(s, branch, captured));
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

constexpr GradientEntry kRules[] = {{"If", IfRule}, {"Loop", LoopRule}, {"Scan", ScanRule}};

}  // namespace

GradientList ControlFlowGradients() { return kRules; }

}  // namespace onward::gradient
