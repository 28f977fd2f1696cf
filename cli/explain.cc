// onward explain: what will happen when the model runs.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command.h"
#include "cli/graph_sizes.h"
#include "cli/inputs.h"
#include "cli/run_memory.h"
#include "executors/plan/place.h"
#include "kernels/cpu/targets.h"
#include "onward/session.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

// "avx2 avx512; limited to avx2" where the process may not use all that the processor has.
std::string CpuFeatures() {
  using namespace kernels::cpu;
  const std::string all = TargetNames(DetectedTargets());
  return AllowedTargets() == DetectedTargets()
             ? all
             : absl::StrCat(all, "; limited to ", TargetNames(AllowedTargets()));
}

nlohmann::json Document(const Session& session, const PlannedRun& plan) {
  nlohmann::json document = {{"cpu_features", CpuFeatures()},
                             {"passes", nlohmann::json::array()},
                             {"nodes", nlohmann::json::array()}};
  for (const PassReport& pass : session.passes())
    document["passes"].push_back({{"name", pass.name}, {"patches", pass.patches}});
  for (const NodeExplanation& node : session.Explain()) {
    document["nodes"].push_back({{"node", node.node},
                                 {"provider", node.provider},
                                 {"kernel", node.kernel},
                                 {"refusals", node.refusals},
                                 {"origin", node.origin}});
  }
  const executors::Crossings crossings = executors::CountCrossings(session.graph());
  document["copies"] = {{"inputs", crossings.inputs},
                        {"outputs", crossings.outputs},
                        {"within", crossings.within},
                        {"in_bodies", crossings.in_bodies}};
  const absl::Status rows = session.RowsAreIndependent();
  document["rows"] = rows.ok() ? "independent" : std::string(rows.message());
  document["taken_as_one"] = plan.taken_as_one;
  if (plan.unknown.empty()) {
    document["planned_bytes"] = plan.memory.values;
    document["memory"] = plan.memory.json();
  } else {
    document["planned_bytes"] = nullptr;
    document["no_plan"] = plan.unknown;
  }
  return document;
}

void Print(const Session& session, const PlannedRun& plan) {
  std::printf("CPU features: %s\npasses:\n", CpuFeatures().c_str());
  for (const PassReport& pass : session.passes())
    std::printf("  %-36s %d\n", pass.name.c_str(), pass.patches);
  std::map<std::string, int> kernels;
  std::printf("nodes:\n");
  for (const NodeExplanation& node : session.Explain()) {
    std::printf("  %s  %s %s", node.node.c_str(), node.provider.c_str(), node.kernel.c_str());
    if (!node.origin.empty()) std::printf("  from: %s", node.origin.c_str());
    std::printf("\n");
    for (const std::string& refusal : node.refusals)
      std::printf("      refused by %s\n", refusal.c_str());
    ++kernels[node.kernel];
  }
  std::printf("kernels:\n");
  for (const auto& [kernel, count] : kernels) std::printf("  %-36s %d\n", kernel.c_str(), count);
  const executors::Crossings crossings = executors::CountCrossings(session.graph());
  if (crossings.inputs + crossings.outputs + crossings.within + crossings.in_bodies > 0) {
    std::printf(
        "copies between devices: %d of inputs, %d of outputs, %d within the model, %d in bodies\n",
        crossings.inputs, crossings.outputs, crossings.within, crossings.in_bodies);
  }
  const absl::Status rows = session.RowsAreIndependent();
  std::printf("batches: %s\n", rows.ok() ? "rows are independent, requests can be joined"
                                         : std::string(rows.message()).c_str());
  if (!plan.unknown.empty()) {
    std::printf("memory plan: not known: %s\n", plan.unknown.c_str());
    return;
  }
  std::printf("memory plan: %lld bytes of values and scratch%s\nmemory of a run: %s\n",
              static_cast<long long>(plan.memory.values),
              plan.taken_as_one.empty()
                  ? ""
                  : absl::StrCat(" with ", TakenAsOne(plan.taken_as_one)).c_str(),
              plan.memory.text().c_str());
}

absl::Status Explain(const std::string& model, const InputOptions& inputs,
                     const CommonOptions& common) {
  SessionOptions options = common.session();
  options.check_rows = true;
  options.plan_only = common.provider != "cpu";  // its device may be elsewhere
  if (options.log == nullptr) options.log = LogToStandardError(LogLevel::kWarning);
  ONWARD_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Load(model, options));
  absl::StatusOr<PlannedRun> plan = PlanRun(*session, inputs, !options.plan_only);
  if (!plan.ok() && (options.plan_only || inputs.shapes.empty())) {
    // Kernels of a device ask its libraries for the scratch that they need; windows may be larger
    // than 1.
    PlannedRun unknown;
    unknown.unknown =
        options.plan_only
            ? absl::StrCat("it takes a device (", plan.status().message(), ")")
            : absl::StrCat(plan.status().message(), " (--shape NAME=DIMS gives the inputs sizes)");
    plan = std::move(unknown);
  }
  ONWARD_RETURN_IF_ERROR(plan.status());
  if (common.json) {
    std::printf("%s\n", Document(*session, *plan).dump(2).c_str());
  } else {
    Print(*session, *plan);
  }
  return absl::OkStatus();
}

}  // namespace

void AddExplain(CommandLine& line, CommonOptions& common) {
  auto model = std::make_shared<std::string>();
  auto inputs = std::make_shared<InputOptions>();
  Command command = NewCommand(line, common, "explain",
                               "Says which passes fired, which kernel runs each node, and why",
                               "onward explain resnet.onnx --shape image=8x3x224x224");
  command.Option("model", *model, "ONNX file", {.required = true});
  command.Option("--shape", inputs->shapes, "NAME=1x3x224x224: dims to plan memory for");
  command.Do([=, &common] { return Explain(*model, *inputs, common); });
}

}  // namespace onward::cli
