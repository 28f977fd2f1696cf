#include "graph/rewrite/state.h"

#include <utility>

namespace onward {

ValueId AddState(Graph& graph, const std::string& name, Tensor initial) {
  const ValueId id = graph.AddInput(
      name, Type::Tensor(initial.dtype(), Dims(initial.dims().begin(), initial.dims().end())));
  graph.mutable_value(id).constant = std::move(initial);
  return id;
}

ValueId ConstantToState(Graph& graph, ValueId constant) {
  if (graph.is_input(constant)) return constant;
  const ValueData data = graph.value(constant);
  graph.Rename(constant, graph.UniqueName(data.name + "/initial"));
  graph.mutable_value(constant).metadata.clear();
  const ValueId input = graph.AddInput(data.name, data.type);
  graph.mutable_value(input).constant = data.constant;
  graph.mutable_value(input).doc_string = data.doc_string;
  graph.mutable_value(input).metadata = data.metadata;
  graph.ReplaceUses(constant, input);
  return input;
}

void AddUpdate(Model& model, ValueId state, ValueId next) {
  Graph& graph = model.graph;
  graph.Rename(next, graph.UniqueName("next/" + graph.value(state).name));
  graph.AddOutput(next);
  model.updates.push_back({state, next});
}

}  // namespace onward
