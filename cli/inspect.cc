// onward inspect: what is in a model file.
#include <cstdio>
#include <new>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/graph_picture.h"
#include "cli/graph_sizes.h"
#include "cli/inspect_document.h"
#include "cli/listings.h"
#include "cli/module_table.h"
#include "cli/shape_ranges.h"
#include "files/write_file.h"
#include "graph/base/byte_text.h"
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

// " with batch = 1 to 8, length = 1".
std::string SizesText(const nlohmann::json& document) {
  std::vector<std::string> sizes;
  const nlohmann::json ranges = document.value("sizes", nlohmann::json::object());
  for (const auto& [symbol, ends] : ranges.items()) {
    const auto low = ends[0].get<int64_t>(), high = ends[1].get<int64_t>();
    sizes.push_back(
        absl::StrCat(symbol, " = ", low, low == high ? "" : absl::StrCat(" to ", high)));
  }
  const auto symbols = document["taken_as_one"].get<std::vector<std::string>>();
  if (!symbols.empty()) sizes.push_back(TakenAsOne(symbols));
  std::string text = sizes.empty() ? "" : absl::StrCat(" with ", absl::StrJoin(sizes, ", "));
  const auto shapeless = document["values_without_shape"].get<int64_t>();
  if (shapeless > 0)
    absl::StrAppend(&text, text.empty() ? " without " : " and without ", shapeless,
                    shapeless == 1 ? " value" : " values", " of unknown rank");
  return text;
}

// "1.5 to 12" where the document has a range of the number, else "12".
std::string NumberText(const nlohmann::json& document, const std::string& name, double unit) {
  const std::string high = absl::StrFormat("%.4g", document[name].get<double>() / unit);
  if (!document.contains(name + "_range")) return high;
  const double low = document[name + "_range"][0].get<double>();
  return absl::StrFormat("%.4g to %s", low / unit, high);
}

std::string MemoryText(const Inspected& inspected, const nlohmann::json& document) {
  const RunMemory& memory = inspected.plan.memory;
  if (!document.contains("memory_range")) return memory.text();
  return absl::StrCat(BytesText(document["memory_range"][0].get<int64_t>()), " to ",
                      BytesText(memory.total()), "; at the upper end: ", memory.parts());
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
  std::printf("arithmetic: %s GFLOP per run%s%s\n", NumberText(document, "flops", 1e9).c_str(),
              sizes.c_str(), formula.empty() ? "" : absl::StrCat(": ", formula, " FLOP").c_str());
  std::printf("activations: %s MB at the peak%s\n",
              NumberText(document, "peak_activation_bytes", 1e6).c_str(), sizes.c_str());
  if (inspected.plan.unknown.empty()) {
    std::printf("memory:     %s\n", MemoryText(inspected, document).c_str());
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

PlannedRun PlanOf(const std::string& path, const std::vector<std::string>& shapes,
                  const CommonOptions& common) {
  InputOptions inputs;
  inputs.shapes = shapes;
  const auto plan = [&]() -> absl::StatusOr<PlannedRun> {
    ONWARD_ASSIGN_OR_RETURN(const auto session, Session::Load(path, common.session()));
    return PlanRun(*session, inputs, /*may_run=*/false);
  };
  common.memory()->ResetPeak();
  PlannedRun unknown;
  try {
    absl::StatusOr<PlannedRun> planned = plan();
    if (planned.ok()) return *std::move(planned);
    unknown.unknown = std::string(planned.status().message());
  } catch (const std::bad_alloc& error) {
    unknown.unknown = error.what();
  }
  return unknown;
}

// The model with the sizes of each end of their ranges; `low` has a plan only where `high` has one,
// and the other way round.
struct Ends {
  Inspected low, high;
};

Ends PlanEnds(const std::string& path, const ShapeRanges& ranges, const CommonOptions& common) {
  Ends ends;
  ends.high.plan = PlanOf(path, ranges.high, common);
  if (!ranges.open()) return ends;
  ends.low.plan = PlanOf(path, ranges.low, common);
  std::string &low = ends.low.plan.unknown, &high = ends.high.plan.unknown;
  if (high.empty()) high = low;
  if (low.empty()) low = high;
  return ends;
}

// The lists that are printed beside the summary.
struct Listed {
  bool values = false, parameters = false, modules = false;
  std::string picture;  // a file
};

absl::Status Inspect(const std::string& path, const std::vector<std::string>& shapes,
                     const Listed& listed, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(const ShapeRanges ranges, SplitRanges(shapes));
  // First, while nothing else takes memory.
  auto [low, high] = PlanEnds(path, ranges, common);
  std::vector<std::string> initializers;
  ImportOptions options;
  options.for_inspection = true;
  options.opsets = &high.opsets;
  options.initializers = &initializers;
  ONWARD_ASSIGN_OR_RETURN(Model model, ImportFile(path, options));
  high.model = model;
  ONWARD_ASSIGN_OR_RETURN(high.sizes, ApplyShapes(ranges.high, high.model.graph));
  nlohmann::json document = InspectionDocument(high);
  if (ranges.open()) {
    low.model = model;
    ONWARD_ASSIGN_OR_RETURN(low.sizes, ApplyShapes(ranges.low, low.model.graph));
    AddRanges(model, low, high, document);
  } else {
    model = high.model;
  }
  if (!listed.picture.empty()) {
    ONWARD_RETURN_IF_ERROR(files::WriteFile(listed.picture, PictureOf(high.model.graph)));
  }
  std::vector<ModuleRow> modules;
  if (listed.modules) {
    ONWARD_ASSIGN_OR_RETURN(modules, ModulesOf(high.model.graph, high.sizes));
  }
  if (common.json) {
    if (listed.parameters)
      document["parameter_list"] = ParametersJson(ParametersOf(model, initializers));
    if (listed.modules) document["modules"] = ModuleTableJson(modules);
    if (listed.values) document.update(TypesJson(model.graph));
    std::printf("%s\n",
                document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return absl::OkStatus();
  }
  PrintText(high, document);
  if (listed.modules) std::printf("%s", ModuleTableText(modules).c_str());
  if (listed.parameters)
    std::printf("%s", nn::ParameterTable(ParametersOf(model, initializers)).c_str());
  if (listed.values) PrintValues(model.graph, "");
  return absl::OkStatus();
}

}  // namespace

void AddInspect(CommandLine& line, CommonOptions& common) {
  auto model = std::make_shared<std::string>();
  auto listed = std::make_shared<Listed>();
  Command command = NewCommand(line, common, "inspect", "Prints what is in a model file",
                               "onward inspect bert.onnx --values");
  auto shapes = std::make_shared<std::vector<std::string>>();
  command.Option("model", *model, "ONNX file", {.required = true});
  command.Option("--shape", *shapes,
                 "NAME=1x3x224x224 or NAME=1..8x3x224x224: dims of an input, for sizes and costs");
  command.Flag("--values", listed->values, "print the type of every value, of bodies too");
  command.Flag("--parameters", listed->parameters,
               "print every parameter: shape, whether it would be trained, how it started");
  command.Flag("--modules", listed->modules,
               "print the tree of modules: parameters, arithmetic, shapes of outputs");
  command.Option("--picture", listed->picture,
                 "write the graph as FILE.dot, which Graphviz draws (dot -Tsvg FILE.dot)");
  command.Do([=, &common] { return Inspect(*model, *shapes, *listed, common); });
}

}  // namespace onward::cli
