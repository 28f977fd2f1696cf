#include "cli/listings.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "cli/parameter_choices.h"
#include "onward/nn/module.h"
#include "training/prepare/trainable.h"

namespace onward::cli {
namespace {

std::string BodyName(const Graph& graph, NodeId id, const Subgraph& subgraph,
                     const std::string& where) {
  return absl::StrCat(subgraph.attribute, " of ", graph.Describe(id), where.empty() ? "" : " in ",
                      where);
}

}  // namespace

void PrintValues(const Graph& graph, const std::string& where) {
  std::printf("values%s:\n", where.empty() ? "" : absl::StrCat(" in ", where).c_str());
  for (int i = 0; i < graph.num_values(); ++i) {
    std::printf("  %s: %s\n", graph.value({i}).name.c_str(), graph.type({i}).ToString().c_str());
  }
  for (NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs) {
      PrintValues(*subgraph.graph, BodyName(graph, id, subgraph, where));
    }
  }
}

nlohmann::json TypesJson(const Graph& graph) {
  nlohmann::json types = {{"values", nlohmann::json::object()}};
  for (int i = 0; i < graph.num_values(); ++i) {
    types["values"][graph.value({i}).name] = graph.type({i}).ToString();
  }
  for (NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs) {
      types["bodies"][BodyName(graph, id, subgraph, "")] = TypesJson(*subgraph.graph);
    }
  }
  return types;
}

std::vector<nn::ParameterInfo> ParametersOf(const Model& model,
                                            const std::vector<std::string>& initializers) {
  std::vector<nn::ParameterInfo> parameters = nn::Parameters(model);
  if (model.graph.metadata.contains(nn::kModulesKey)) return parameters;
  const auto choices = training::ChooseTrainable(model, initializers, ValueId(), {}, {});
  if (choices.ok()) ShowChoices(*choices, parameters);
  return parameters;
}

nlohmann::json ParametersJson(const std::vector<nn::ParameterInfo>& parameters) {
  nlohmann::json list = nlohmann::json::array();
  for (const nn::ParameterInfo& each : parameters) {
    list.push_back({{"name", each.name},
                    {"type", each.type.ToString()},
                    {"elements", each.count()},
                    {"trainable", each.trainable()},
                    {"reason", each.frozen},
                    {"ground", each.ground},
                    {"init", each.init}});
  }
  return list;
}

}  // namespace onward::cli
