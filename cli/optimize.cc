// onward optimize: writes the rewritten graph as ONNX.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "executors/evaluate.h"
#include "graph/passes/pass.h"
#include "onward/export.h"
#include "onward/import.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

absl::Status Optimize(const std::string& in, const std::string& out, const std::string& target,
                      const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(Model model, ImportFile(in));
  std::vector<Pass> passes = PortablePipeline();
  if (target != "portable") {
    const std::vector<Pass> device = DevicePipeline(target);
    passes.insert(passes.end(), device.begin(), device.end());
  }
  PassOptions options;
  options.evaluate = [](const Graph& graph, NodeId id) {
    return executors::EvaluateOnCpu(graph, id);
  };
  ONWARD_ASSIGN_OR_RETURN(const std::vector<PassReport> reports, RunPasses(model, passes, options));
  ONWARD_RETURN_IF_ERROR(ExportFile(model, out));
  nlohmann::json document = {{"output", out},
                             {"nodes", model.graph.node_ids().size()},
                             {"passes", nlohmann::json::array()}};
  for (const PassReport& report : reports)
    document["passes"].push_back({{"name", report.name}, {"patches", report.patches}});
  if (common.json) {
    std::printf("%s\n", document.dump(2).c_str());
    return absl::OkStatus();
  }
  for (const PassReport& report : reports)
    std::printf("%-36s %d\n", report.name.c_str(), report.patches);
  std::printf("%zu nodes written to %s\n", model.graph.node_ids().size(), out.c_str());
  return absl::OkStatus();
}

}  // namespace

void AddOptimize(CommandLine& line, CommonOptions& common) {
  struct Options {
    std::string in, out, target = "portable";
  };
  auto options = std::make_shared<Options>();
  Command command = NewCommand(line, common, "optimize", "Writes the rewritten graph as ONNX",
                               "onward optimize bert.onnx -o bert_optimized.onnx");
  command.Option("model", options->in, "ONNX file", {.required = true});
  command.Option("-o,--output", options->out, "ONNX file to write", {.required = true});
  command.Option("--for", options->target, "portable (any ONNX runtime), cpu or cuda",
                 {.one_of = {"portable", "cpu", "cuda"}});
  command.Do([=, &common] { return Optimize(options->in, options->out, options->target, common); });
}

}  // namespace onward::cli
