#include "training/gradient/loop_forward.h"

#include <memory>
#include <utility>

#include "graph/ir/graph_edit.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/gradient/body.h"

namespace onward::gradient {
namespace {

void SetOutputs(Graph& graph, const std::vector<ValueId>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i < graph.outputs().size()) {
      GraphEdit(graph).SetOutput(static_cast<int>(i), outputs[i]);
    } else {
      GraphEdit(graph).AddOutput(outputs[i]);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<ValueId>> ExtendForward(const GradientScope& scope,
                                                   const Graph& original, size_t states,
                                                   std::vector<Saved>& saved) {
  auto extended = std::make_unique<Graph>(original);
  GraphSink sink(*extended, "saved/");
  std::vector<ValueId> filled, stacks, empty;
  for (const Saved& value : saved) {
    const Expr inner = sink.Value(value.value);
    if (value.from == From::kStack) stacks.push_back(Identity(inner).id());
    if (value.from != From::kSequence) continue;
    const DType dtype = extended->type(value.value).dtype;
    const Expr before = sink.Value(GraphEdit(*extended).AddInput(
        extended->UniqueName("saved/sequence"), Type::Sequence(Type::Tensor(dtype))));
    filled.push_back(expr::Op("SequenceInsert", {before, inner}).id());
    const Attributes attributes = {{"dtype", static_cast<int64_t>(dtype)}};
    empty.push_back(scope.sink().Op("SequenceEmpty", {}, attributes).id());
  }
  stacks.push_back(Identity(sink.Value(extended->inputs()[0])).id());
  ONWARD_RETURN_IF_ERROR(sink.status());
  ONWARD_RETURN_IF_ERROR(scope.sink().status());
  // Loop wants the condition, the states, then what is stacked.
  std::vector<ValueId> outputs = extended->outputs();
  outputs.insert(outputs.begin() + static_cast<std::ptrdiff_t>(1 + states), filled.begin(),
                 filled.end());
  outputs.insert(outputs.end(), stacks.begin(), stacks.end());
  SetOutputs(*extended, outputs);
  std::vector<Subgraph> subgraphs;
  subgraphs.push_back({"body", std::move(extended), scope.node().subgraphs[0].captures});
  ONWARD_ASSIGN_OR_RETURN(std::vector<ValueId> results,
                          ReplaceNode(scope.sink(), scope.id(), std::move(subgraphs), empty, states,
                                      filled.size(), stacks.size()));
  size_t sequence = states, stack = results.size() - stacks.size();
  for (Saved& value : saved) {
    if (value.from == From::kStack) value.outer = results[stack++];
    if (value.from == From::kSequence) value.outer = results[sequence++];
  }
  return results;
}

}  // namespace onward::gradient
