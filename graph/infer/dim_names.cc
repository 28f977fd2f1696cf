#include "graph/infer/dim_names.h"

#include <cctype>
#include <memory>
#include <set>
#include <string>

#include "graph/infer/merge.h"
#include "graph/ir/graph_edit.h"

namespace onward {
namespace {

// Calls `change` with every dim of the type.
template <typename Change>
void ForEachDim(Type& type, Change&& change) {
  if (type.element) {
    Type element = *type.element;
    ForEachDim(element, change);
    type.element = std::make_shared<Type>(std::move(element));
  }
  if (!type.shape) return;
  for (Dim& dim : *type.shape) change(dim);
}

bool IsDeclaredOutside(const Graph& graph, ValueId id) {
  return graph.is_input(id) || graph.is_constant(id);
}

// `taken`: null in bodies, where no name is kept.
void DropNames(Graph& graph, std::set<std::string>* taken) {
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueId id{i};
    if (taken != nullptr && IsDeclaredOutside(graph, id)) continue;
    ForEachDim(GraphEdit(graph).type(id), [&](Dim& dim) {
      if (!dim.symbolic()) return;
      if (taken == nullptr || !NamesOneSize(dim.expression()) ||
          !taken->insert(dim.expression()).second) {
        dim = Dim();
      }
    });
  }
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs) DropNames(*subgraph.graph, nullptr);
  }
}

void ForgetInferred(Graph& graph, bool body) {
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueId id{i};
    if (graph.is_constant(id) || (!body && graph.is_input(id))) continue;
    ForgetShapes(GraphEdit(graph).type(id));
  }
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs) ForgetInferred(*subgraph.graph, true);
  }
}

}  // namespace

bool NamesOneSize(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (const char c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') return false;
  }
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.starts_with("unk__")) return false;
  for (const std::string_view word : {"none", "null", "nan", "unknown", "undefined"}) {
    if (lower == word) return false;
  }
  return true;
}

void DropUncheckedNames(Graph& graph) {
  std::set<std::string> taken;
  for (const ValueId input : graph.inputs()) {
    ForEachDim(GraphEdit(graph).type(input), [&](Dim& dim) {
      if (!dim.symbolic()) return;
      for (std::string& symbol : DimSymbols(ParseDim(dim.expression())))
        taken.insert(std::move(symbol));
    });
  }
  DropNames(graph, &taken);
}

void ForgetInferred(Graph& graph) { ForgetInferred(graph, false); }

void SeparateInputNames(Graph& graph) {
  for (const ValueId input : graph.inputs()) {
    ForEachDim(GraphEdit(graph).type(input), [](Dim& dim) {
      if (dim.symbolic()) dim = Dim();
    });
  }
  ForgetInferred(graph, false);
}

}  // namespace onward
