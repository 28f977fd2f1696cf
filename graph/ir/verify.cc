#include "graph/ir/verify.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward {
namespace {

absl::Status Breach(std::string_view what) {
  return absl::InternalError(absl::StrCat("the graph is inconsistent: ", std::string(what)));
}

bool InRange(const Graph& graph, ValueId id) {
  return id.index >= 0 && id.index < graph.num_values();
}

absl::Status CheckIds(const Graph& graph) {
  for (const auto* list : {&graph.inputs(), &graph.outputs(), &graph.captures()}) {
    for (ValueId id : *list) {
      if (!InRange(graph, id)) return Breach(absl::StrCat("value ", id.index, " does not exist"));
    }
  }
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const auto check = [&](ValueId value, bool may_be_omitted) -> absl::Status {
      if (InRange(graph, value) || (may_be_omitted && !value.valid())) return absl::OkStatus();
      return Breach(
          absl::StrCat(graph.Describe(id), " names value ", value.index, ", which does not exist"));
    };
    for (ValueId value : node.inputs) ONWARD_RETURN_IF_ERROR(check(value, true));
    for (ValueId value : node.outputs) ONWARD_RETURN_IF_ERROR(check(value, true));
    for (const Subgraph& subgraph : node.subgraphs) {
      for (ValueId value : subgraph.captures) ONWARD_RETURN_IF_ERROR(check(value, false));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckProducers(const Graph& graph) {
  std::vector<NodeId> producers(static_cast<size_t>(graph.num_values()));
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (!output.valid()) continue;
      const ValueData& value = graph.value(output);
      NodeId& producer = producers[static_cast<size_t>(output.index)];
      if (producer.valid()) {
        return Breach(absl::StrCat("value '", value.name, "' has two producers, ",
                                   graph.Describe(producer), " and ", graph.Describe(id)));
      }
      producer = id;
    }
  }
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const ValueData& value = graph.value(node.outputs[i]);
      if (value.producer == id && value.producer_output == static_cast<int>(i)) continue;
      return Breach(absl::StrCat("value '", value.name, "' does not record its producer ",
                                 graph.Describe(id)));
    }
  }
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueData& value = graph.value({i});
    if (value.producer.valid() && value.producer != producers[static_cast<size_t>(i)]) {
      return Breach(absl::StrCat("value '", value.name, "' names a node that does not produce it"));
    }
    if (value.producer.valid() && value.constant) {
      return Breach(absl::StrCat("constant '", value.name, "' has a producer"));
    }
  }
  for (const auto* list : {&graph.inputs(), &graph.captures()}) {
    for (ValueId id : *list) {
      if (graph.value(id).producer.valid()) {
        return Breach(absl::StrCat("input '", graph.value(id).name, "' has a producer"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckUsers(const Graph& graph) {
  std::vector<std::vector<NodeId>> users(static_cast<size_t>(graph.num_values()));
  for (NodeId id : graph.node_ids()) {
    const auto add = [&](ValueId value) {
      if (!value.valid()) return;
      auto& list = users[static_cast<size_t>(value.index)];
      if (list.empty() || list.back() != id) list.push_back(id);
    };
    for (ValueId value : graph.node(id).inputs) add(value);
    for (const Subgraph& subgraph : graph.node(id).subgraphs) {
      for (ValueId value : subgraph.captures) add(value);
    }
  }
  for (int i = 0; i < graph.num_values(); ++i) {
    if (users[static_cast<size_t>(i)] == graph.users({i})) continue;
    return Breach(absl::StrCat("the users of value '", graph.value({i}).name, "' are wrong"));
  }
  return absl::OkStatus();
}

// Values that something reads or names must exist at run time.
absl::Status CheckSources(const Graph& graph) {
  std::vector<bool> sourced(static_cast<size_t>(graph.num_values()), false);
  for (const auto* list : {&graph.inputs(), &graph.captures()}) {
    for (ValueId id : *list) sourced[static_cast<size_t>(id.index)] = true;
  }
  const auto check = [&](ValueId id) -> absl::Status {
    const ValueData& value = graph.value(id);
    if (value.constant || value.producer.valid() || sourced[static_cast<size_t>(id.index)]) {
      return absl::OkStatus();
    }
    return Breach(absl::StrCat(
        "value '", value.name,
        "' is read but is not an input, a constant, a capture or the output of a node"));
  };
  for (int i = 0; i < graph.num_values(); ++i) {
    if (!graph.users({i}).empty()) ONWARD_RETURN_IF_ERROR(check({i}));
  }
  for (ValueId id : graph.outputs()) ONWARD_RETURN_IF_ERROR(check(id));
  return absl::OkStatus();
}

absl::Status CheckNames(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  std::vector<bool> live(static_cast<size_t>(graph.num_values()), false);
  const auto mark = [&](ValueId id) {
    if (id.valid()) live[static_cast<size_t>(id.index)] = true;
  };
  for (const auto* list : {&graph.inputs(), &graph.outputs(), &graph.captures()}) {
    for (ValueId id : *list) mark(id);
  }
  for (NodeId id : graph.node_ids()) {
    for (ValueId value : graph.node(id).inputs) mark(value);
    for (ValueId value : graph.node(id).outputs) mark(value);
  }
  for (int i = 0; i < graph.num_values(); ++i) {
    if (!live[static_cast<size_t>(i)]) continue;
    const std::string& name = graph.value({i}).name;
    if (name.empty()) return Breach(absl::StrCat("value ", i, " has no name"));
    if (!names.insert(name).second) {
      return Breach(absl::StrCat("two values are named '", name, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTypes(const Graph& graph) {
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueData& value = graph.value({i});
    if (!value.constant) continue;
    const Tensor& tensor = *value.constant;
    if (!value.type.CompatibleWith(Type::Tensor(tensor.dtype(), tensor.dims()))) {
      return Breach(absl::StrCat("constant '", value.name, "' has type ", value.type.ToString(),
                                 " but holds ",
                                 Type::Tensor(tensor.dtype(), tensor.dims()).ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSubgraphs(const Graph& graph) {
  for (NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs) {
      if (subgraph.graph == nullptr) {
        return Breach(absl::StrCat(graph.Describe(id), " '", subgraph.attribute, "' is empty"));
      }
      if (subgraph.captures.size() != subgraph.graph->captures().size()) {
        return Breach(absl::StrCat(graph.Describe(id), " gives '", subgraph.attribute, "' ",
                                   subgraph.captures.size(), " captures, it has ",
                                   subgraph.graph->captures().size()));
      }
      if (absl::Status status = Verify(*subgraph.graph); !status.ok()) {
        return Annotate(status, absl::StrCat(graph.Describe(id), " '", subgraph.attribute, "':"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Verify(const Graph& graph) {
  for (const auto& check : {CheckIds, CheckProducers, CheckUsers, CheckSources, CheckNames,
                            CheckTypes, CheckSubgraphs}) {
    ONWARD_RETURN_IF_ERROR(check(graph));
  }
  if (const auto order = graph.TopologicalOrder(); !order.ok()) {
    return Breach(std::string(order.status().message()));
  }
  return absl::OkStatus();
}

}  // namespace onward
