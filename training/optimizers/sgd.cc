#include "training/optimizers/sgd.h"

#include "graph/base/status.h"
#include "graph/builder/expr.h"
#include "graph/builder/functions.h"

namespace onward {
namespace {

// The parameter as an input with its present value as default.
ValueId AsInput(Graph& graph, ValueId parameter) {
  if (graph.is_input(parameter)) return parameter;
  const ValueData data = graph.value(parameter);
  graph.mutable_value(parameter).name = graph.UniqueName(data.name + "/initial");
  const ValueId input = graph.AddInput(data.name, data.type);
  graph.mutable_value(input).constant = data.constant;
  graph.ReplaceUses(parameter, input);
  return input;
}

}  // namespace

absl::Status AddSgd(Model& model, absl::Span<const ValueId> parameters,
                    absl::Span<const ValueId> gradients, float rate) {
  GraphSink sink(model.graph, "sgd/");
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Expr next =
        sink.Value(parameters[i]) - sink.Value(gradients[i]) * static_cast<double>(rate);
    ONWARD_RETURN_IF_ERROR(sink.status());
    ValueData& output = model.graph.mutable_value(next.id());
    output.name = model.graph.UniqueName("next/" + model.graph.value(parameters[i]).name);
    model.graph.AddOutput(next.id());
    model.updates.push_back({AsInput(model.graph, parameters[i]), next.id()});
  }
  return absl::OkStatus();
}

}  // namespace onward
