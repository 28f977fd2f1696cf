// onward inspect: what is in a model file.
#include <cstdio>
#include <map>
#include <new>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/graph_sizes.h"
#include "cli/parameter_choices.h"
#include "cli/run_memory.h"
#include "graph/infer/cost.h"
#include "onward/import.h"
#include "onward/nn/module.h"
#include "onward/nn/parameters.h"
#include "onward/session.h"
#include "onward/status.h"
#include "training/prepare/trainable.h"

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

// What the file is, beside the model in it.
struct Inspected {
  Model model;
  std::map<std::string, int64_t> opsets;  // of the file
  SymbolSizes sizes;                      // that --shape gives
  PlannedRun plan;                        // as `explain` has it
};

absl::StatusOr<PlannedRun> PlanOf(const std::string& path, const std::vector<std::string>& shapes,
                                  const CommonOptions& common) {
  InputOptions inputs;
  inputs.shapes = shapes;
  try {
    ONWARD_ASSIGN_OR_RETURN(const auto session, Session::Load(path, common.session()));
    return PlanRun(*session, inputs, /*may_run=*/false);
  } catch (const std::bad_alloc& error) {
    return absl::ResourceExhaustedError(error.what());
  }
}

// By the names that people write: "" is ai.onnx.
std::map<std::string, int64_t> ByDomain(const std::map<std::string, int64_t>& opsets) {
  std::map<std::string, int64_t> named;
  for (const auto& [domain, version] : opsets) named[domain.empty() ? "ai.onnx" : domain] = version;
  return named;
}

nlohmann::json Document(const Inspected& inspected) {
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
      {"parameters", counts.parameters},
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

std::string OpsetText(const nlohmann::json& opsets) {
  std::string text;
  for (const auto& [domain, version] : opsets.items())
    absl::StrAppend(&text, text.empty() ? "" : ", ", domain, " ", version.get<int64_t>());
  return text;
}

// " with batch = 1 (203264*batch FLOP; --shape sets sizes)".
std::string SizesText(const nlohmann::json& document) {
  const auto symbols = document["taken_as_one"].get<std::vector<std::string>>();
  std::string text = symbols.empty() ? "" : absl::StrCat(" with ", TakenAsOne(symbols));
  const auto shapeless = document["values_without_shape"].get<int64_t>();
  if (shapeless > 0)
    absl::StrAppend(&text, text.empty() ? " without " : " and without ", shapeless,
                    shapeless == 1 ? " value" : " values", " of unknown rank");
  return text;
}

void PrintText(const Inspected& inspected, const nlohmann::json& document) {
  const Model& model = inspected.model;
  std::printf("producer:   %s %s\nir version: %d\n", model.producer_name.c_str(),
              model.producer_version.c_str(), static_cast<int>(model.ir_version));
  const std::string opsets = OpsetText(document["opsets"]);
  const std::string inside = OpsetText(document["opsets_inside"]);
  std::printf("opsets:     %s%s\ninputs:\n", opsets.c_str(),
              opsets == inside ? "" : absl::StrCat(" (run as ", inside, ")").c_str());
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
  const std::string sizes = SizesText(document);
  const auto formula = document["flops_formula"].get<std::string>();
  std::printf("parameters: %.4g M, %.4g MB\n", document["parameters"].get<double>() * 1e-6,
              document["parameter_bytes"].get<double>() * 1e-6);
  std::printf("arithmetic: %.4g GFLOP per run%s%s\n", document["flops"].get<double>() * 1e-9,
              sizes.c_str(), formula.empty() ? "" : absl::StrCat(": ", formula, " FLOP").c_str());
  std::printf("activations: %.4g MB at the peak%s\n",
              document["peak_activation_bytes"].get<double>() * 1e-6, sizes.c_str());
  if (inspected.plan.unknown.empty()) {
    std::printf("memory:     %s\n", inspected.plan.memory.text().c_str());
  } else {
    std::printf("            in the order of the file; a run has no plan: %s\n",
                inspected.plan.unknown.c_str());
  }
  if (!SymbolsWithoutSize(model.graph, {}).empty())
    std::printf("            --shape NAME=DIMS gives the inputs sizes\n");
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

absl::Status Inspect(const std::string& path, const std::vector<std::string>& shapes, bool values,
                     bool parameters, const CommonOptions& common) {
  Inspected inspected;
  // First, while nothing else takes memory.
  absl::StatusOr<PlannedRun> plan = PlanOf(path, shapes, common);
  if (plan.ok())
    inspected.plan = *std::move(plan);
  else
    inspected.plan.unknown = std::string(plan.status().message());
  std::vector<std::string> initializers;
  ImportOptions options;
  options.for_inspection = true;
  options.opsets = &inspected.opsets;
  options.initializers = &initializers;
  ONWARD_ASSIGN_OR_RETURN(inspected.model, ImportFile(path, options));
  const Model& model = inspected.model;
  ONWARD_ASSIGN_OR_RETURN(inspected.sizes, ApplyShapes(shapes, inspected.model.graph));
  nlohmann::json document = Document(inspected);
  if (common.json) {
    if (parameters) document["parameter_list"] = ParametersJson(ParametersOf(model, initializers));
    if (values) document.update(TypesJson(model.graph));
    std::printf("%s\n",
                document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return absl::OkStatus();
  }
  PrintText(inspected, document);
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
  auto shapes = std::make_shared<std::vector<std::string>>();
  command.Option("model", *model, "ONNX file", {.required = true});
  command.Option("--shape", *shapes, "NAME=1x3x224x224: dims of an input, for sizes and costs");
  command.Flag("--values", *values, "print the type of every value, of bodies too");
  command.Flag("--parameters", *parameters,
               "print every parameter: shape, whether it would be trained, how it started");
  command.Do([=, &common] { return Inspect(*model, *shapes, *values, *parameters, common); });
}

}  // namespace onward::cli
