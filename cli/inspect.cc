// onward inspect: what is in a model file.
#include <cstdio>
#include <new>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/graph_sizes.h"
#include "cli/inspect_document.h"
#include "cli/listings.h"
#include "onward/import.h"
#include "onward/nn/parameters.h"
#include "onward/session.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

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
  nlohmann::json document = InspectionDocument(inspected);
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
