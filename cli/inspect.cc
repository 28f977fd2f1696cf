// onward inspect: what is in a model file.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/parameter_choices.h"
#include "executors/plan/memory.h"
#include "graph/base/status.h"
#include "graph/builder/nn/module.h"
#include "graph/builder/nn/parameters.h"
#include "graph/infer/cost.h"
#include "onnx_io/import.h"

namespace onward::cli {
namespace {

struct Counts {
  std::map<std::string, int> ops;
  int64_t parameters = 0;
  int64_t values_without_shape = 0;
};

void Count(const Graph& graph, Counts& counts) {
  for (int i = 0; i < graph.num_values(); ++i) {
    if (const Tensor* constant = graph.constant({i})) counts.parameters += constant->num_elements();
    const Type& type = graph.type({i});
    counts.values_without_shape += type.is_tensor() && !type.shape;
  }
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    ++counts.ops[node.domain.empty() ? node.op_type : absl::StrCat(node.domain, ".", node.op_type)];
    for (const Subgraph& subgraph : node.subgraphs) Count(*subgraph.graph, counts);
  }
}

// Peak of live activation bytes in file order; unknown dims count as 1.
int64_t PeakActivationBytes(const Graph& graph) {
  const absl::StatusOr<std::vector<NodeId>> order = graph.TopologicalOrder();
  if (!order.ok()) return 0;
  std::map<int32_t, Lifetime> lifetimes;
  const auto last = static_cast<int32_t>(order->size());
  for (int32_t step = 0; step < last; ++step) {
    const Node& node = graph.node((*order)[static_cast<size_t>(step)]);
    for (ValueId id : node.outputs) {
      if (!id.valid() || !graph.type(id).is_tensor()) continue;
      int64_t count = 1;
      for (const Dim& dim : graph.type(id).shape.value_or(SymbolicDims()))
        count *= dim.known() ? std::max<int64_t>(1, dim.value()) : 1;
      lifetimes[id.index] = {ByteSize(graph.type(id).dtype, count), step,
                             graph.is_output(id) ? last : step};
    }
    for (ValueId id : node.inputs) {
      if (const auto it = lifetimes.find(id.index); it != lifetimes.end())
        it->second.last = std::max(it->second.last, step);
    }
  }
  std::vector<Lifetime> all;
  for (const auto& [id, lifetime] : lifetimes) all.push_back(lifetime);
  return PlanArena(all).bytes;
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

nlohmann::json Document(const Model& model) {
  Counts counts;
  Count(model.graph, counts);
  const GraphCost cost = CostOf(model.graph, {});
  return {{"producer", model.producer_name},
          {"producer_version", model.producer_version},
          {"ir_version", model.ir_version},
          {"opsets", model.opsets},
          {"graph", model.graph.name},
          {"metadata", model.metadata},
          {"inputs", ValuesJson(model.graph, model.graph.inputs(), true)},
          {"outputs", ValuesJson(model.graph, model.graph.outputs(), false)},
          {"nodes", model.graph.node_ids().size()},
          {"parameters", counts.parameters},
          {"parameter_bytes", ConstantBytes(model.graph)},
          {"ops", counts.ops},
          {"flops", cost.flops},
          {"peak_activation_bytes", PeakActivationBytes(model.graph)}};
}

void PrintText(const Model& model, const nlohmann::json& document) {
  std::printf("producer:   %s %s\nir version: %d\nopsets:    ", model.producer_name.c_str(),
              model.producer_version.c_str(), static_cast<int>(model.ir_version));
  for (const auto& [domain, version] : model.opsets)
    std::printf(" %s %d", domain.empty() ? "ai.onnx" : domain.c_str(), static_cast<int>(version));
  std::printf("\ninputs:\n");
  for (const auto& value : document["inputs"]) {
    std::printf("  %s: %s%s\n", value["name"].get<std::string>().c_str(),
                value["type"].get<std::string>().c_str(),
                value["optional"].get<bool>() ? " (optional)" : "");
  }
  std::printf("outputs:\n");
  for (const auto& value : document["outputs"]) {
    std::printf("  %s: %s\n", value["name"].get<std::string>().c_str(),
                value["type"].get<std::string>().c_str());
  }
  std::printf("parameters: %.4g M, %.4g MB\n", document["parameters"].get<double>() * 1e-6,
              document["parameter_bytes"].get<double>() * 1e-6);
  std::printf("arithmetic: %.4g GFLOP per run\n", document["flops"].get<double>() * 1e-9);
  std::printf("activations: %.4g MB at the peak (unknown dims taken as 1)\n",
              document["peak_activation_bytes"].get<double>() * 1e-6);
  std::printf("nodes: %d\n", document["nodes"].get<int>());
  for (const auto& [op, count] : document["ops"].items())
    std::printf("  %6d %s\n", count.get<int>(), op.c_str());
}

std::string BodyName(const Graph& graph, NodeId id, const Subgraph& subgraph,
                     const std::string& where) {
  return absl::StrCat(subgraph.attribute, " of ", graph.Describe(id), where.empty() ? "" : " in ",
                      where);
}

// With the values of bodies, under their nodes; `where` is "" or "body of [Loop 'l']".
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

// {"values": {name: type}, "bodies": {"body of [Loop 'l']": {...}}}
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

// With what a training of all would train, as far as no loss is needed to tell.
std::vector<nn::ParameterInfo> ParametersOf(const Model& model,
                                            const std::vector<std::string>& initializers) {
  std::vector<nn::ParameterInfo> parameters = nn::Parameters(model);
  if (model.graph.metadata.contains(nn::kModulesKey)) return parameters;
  const auto choices = ChooseTrainable(model, initializers, ValueId(), {}, {});
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

absl::Status Inspect(const std::string& path, bool values, bool parameters,
                     const CommonOptions& common) {
  std::vector<std::string> initializers;
  ImportOptions options;
  options.for_inspection = true;
  options.initializers = &initializers;
  ONWARD_ASSIGN_OR_RETURN(const Model model, ImportFile(path, options));
  nlohmann::json document = Document(model);
  if (common.json) {
    if (parameters) document["parameter_list"] = ParametersJson(ParametersOf(model, initializers));
    if (values) document.update(TypesJson(model.graph));
    std::printf("%s\n",
                document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return absl::OkStatus();
  }
  PrintText(model, document);
  if (parameters) std::printf("%s", nn::ParameterTable(ParametersOf(model, initializers)).c_str());
  if (values) PrintValues(model.graph, "");
  return absl::OkStatus();
}

}  // namespace

void AddInspect(CommandLine& line, CommonOptions& common) {
  auto model = std::make_shared<std::string>();
  auto values = std::make_shared<bool>(false), parameters = std::make_shared<bool>(false);
  Command command = NewCommand(line, common, "inspect", "Prints what is in a model file",
                               "onward inspect bert.onnx --values");
  command.Option("model", *model, "ONNX file", {.required = true});
  command.Flag("--values", *values, "print the type of every value, of bodies too");
  command.Flag("--parameters", *parameters,
               "print every parameter: shape, whether it would be trained, how it started");
  command.Do([=, &common] { return Inspect(*model, *values, *parameters, common); });
}

}  // namespace onward::cli
