#include "cli/inspect_document.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/graph_sizes.h"

namespace onward::cli {
namespace {

struct Counts {
  std::map<std::string, int> ops;
  int64_t values_without_shape = 0;
};

void Count(const Graph& graph, Counts& counts) {
  for (int i = 0; i < graph.num_values(); ++i) {
    const Type& type = graph.type({i});
    counts.values_without_shape += type.is_tensor() && !type.shape;
  }
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    ++counts.ops[node.domain.empty() ? node.op_type : absl::StrCat(node.domain, ".", node.op_type)];
    for (const Subgraph& subgraph : node.subgraphs) Count(*subgraph.graph, counts);
  }
}

nlohmann::json ValuesJson(const Graph& graph, const std::vector<ValueId>& ids, bool inputs) {
  nlohmann::json list = nlohmann::json::array();
  for (ValueId id : ids) {
    const Type& type = graph.type(id);
    nlohmann::json value = {{"name", graph.value(id).name}, {"type", type.ToString()}};
    if (type.is_tensor()) value["dtype"] = std::string(DTypeName(type.dtype));
    if (type.shape) {
      value["shape"] = nlohmann::json::array();
      for (const Dim& dim : *type.shape) {
        if (dim.known()) {
          value["shape"].push_back(dim.value());
        } else {
          value["shape"].push_back(dim.ToString());
        }
      }
    }
    if (inputs) value["optional"] = graph.is_constant(id);
    list.push_back(value);
  }
  return list;
}

// Those of the inputs first, in their order.
std::vector<std::string> SymbolsTakenAsOne(const Graph& graph, const SymbolSizes& sizes,
                                           const GraphCost& cost) {
  std::vector<std::string> symbols = SymbolsWithoutSize(graph, sizes);
  for (const std::string& symbol : cost.assumed) {
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
      symbols.push_back(symbol);
  }
  return symbols;
}

// By the names that people write: "" is ai.onnx.
std::map<std::string, int64_t> ByDomain(const std::map<std::string, int64_t>& opsets) {
  std::map<std::string, int64_t> named;
  for (const auto& [domain, version] : opsets) named[domain.empty() ? "ai.onnx" : domain] = version;
  return named;
}

}  // namespace

nlohmann::json InspectionDocument(const Inspected& inspected) {
  const Model& model = inspected.model;
  Counts counts;
  Count(model.graph, counts);
  const GraphCost cost = CostOf(model.graph, inspected.sizes);
  nlohmann::json document = {
      {"producer", model.producer_name},
      {"producer_version", model.producer_version},
      {"ir_version", model.ir_version},
      {"opsets", ByDomain(inspected.opsets)},
      {"opsets_inside", ByDomain(model.opsets)},
      {"graph", model.graph.name},
      {"metadata", model.metadata},
      {"inputs", ValuesJson(model.graph, model.graph.inputs(), true)},
      {"outputs", ValuesJson(model.graph, model.graph.outputs(), false)},
      {"nodes", model.graph.node_ids().size()},
      {"parameters", ConstantElements(model.graph)},
      {"parameter_bytes", ConstantBytes(model.graph)},
      {"ops", counts.ops},
      {"flops", cost.flops},
      {"flops_formula", cost.flops_formula},
      {"taken_as_one", SymbolsTakenAsOne(model.graph, inspected.sizes, cost)},
      {"values_without_shape", counts.values_without_shape},
      {"peak_activation_bytes", nullptr}};
  const PlannedRun& plan = inspected.plan;
  if (plan.unknown.empty()) {
    document["peak_activation_bytes"] = plan.memory.values + plan.memory.outputs;
    document["memory"] = plan.memory.json();
  } else {
    document["peak_activation_bytes"] = PeakActivationBytes(model.graph, inspected.sizes);
    document["no_plan"] = plan.unknown;
  }
  return document;
}

void AddRanges(const Model& model, const Inspected& low, const Inspected& high,
               nlohmann::json& document) {
  const nlohmann::json least = InspectionDocument(low);
  document["inputs"] = ValuesJson(model.graph, model.graph.inputs(), true);
  document["outputs"] = ValuesJson(model.graph, model.graph.outputs(), false);
  document["flops_formula"] = CostOf(model.graph, SymbolSizes()).flops_formula;
  for (const char* name : {"flops", "peak_activation_bytes"})
    document[absl::StrCat(name, "_range")] = {least[name], document[name]};
  if (high.plan.unknown.empty())
    document["memory_range"] = {low.plan.memory.total(), high.plan.memory.total()};
  document["sizes"] = nlohmann::json::object();
  for (const auto& [symbol, size] : high.sizes)
    document["sizes"][symbol] = {low.sizes.at(symbol), size};
}

}  // namespace onward::cli
