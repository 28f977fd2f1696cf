#include "graph/rewrite/state.h"

#include <utility>

#include "graph/ir/graph_edit.h"

namespace onward {

ValueId AddState(Graph& graph, const std::string& name, Tensor initial) {
  const ValueId id = GraphEdit(graph).AddInput(
      name, Type::Tensor(initial.dtype(), Dims(initial.dims().begin(), initial.dims().end())));
  GraphEdit(graph).constant(id) = std::move(initial);
  return id;
}

void SetConstant(Graph& graph, ValueId id, std::optional<Tensor> value) {
  GraphEdit(graph).constant(id) = std::move(value);
}

ValueId ConstantToState(Graph& graph, ValueId constant, const std::string& name) {
  if (graph.is_input(constant)) {
    if (!name.empty()) GraphEdit(graph).Rename(constant, name);
    return constant;
  }
  const ValueData data = graph.value(constant);
  GraphEdit(graph).Rename(constant, graph.UniqueName(data.name + "/initial"));
  GraphEdit(graph).metadata(constant).clear();
  const ValueId input = GraphEdit(graph).AddInput(name.empty() ? data.name : name, data.type);
  GraphEdit(graph).constant(input) = data.constant;
  GraphEdit(graph).doc_string(input) = data.doc_string;
  GraphEdit(graph).metadata(input) = data.metadata;
  GraphEdit(graph).ReplaceUses(constant, input);
  return input;
}

void AddUpdate(Model& model, ValueId state, ValueId next) {
  Graph& graph = model.graph;
  GraphEdit(graph).Rename(next, graph.UniqueName("next/" + graph.value(state).name));
  GraphEdit(graph).AddOutput(next);
  model.updates.push_back({state, next});
}

}  // namespace onward
