#include "executors/compile.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executors/compile_program.h"
#include "executors/device_tensor.h"
#include "executors/evaluate.h"
#include "executors/plan/place.h"
#include "graph/builder/formula_schema.h"
#include "graph/fused/elementwise_steps.h"
#include "graph/infer/infer.h"
#include "graph/ops/onward_schemas.h"
#include "kernels/cpu/machine_peak.h"
#include "kernels/make_kernel.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

// Returns whether a device whose kernels refuse the op runs the parts of its formula, or of its
// body in the standard, although the host has a kernel for the whole. Other bodies have loops, or
// parts that no device has.
bool RunsInParts(const Node& node) {
  if (node.schema == nullptr) return false;
  return HasFormula(*node.schema) || node.Is("Attention");
}

// Why a device runs ops in parts.
struct Refusals {
  std::set<std::string> groups;  // fused ones, which the device may compile
  std::set<std::string> nodes;   // others, with their names
};

// `refusals`: null where nobody asks.
bool HasKernel(const ExecutionProvider& provider, const Graph& graph, NodeId id,
               const SessionOptions& options, const KernelOptions& kernel_options,
               Refusals* refusals = nullptr) {
  const Node& node = graph.node(id);
  const bool has_parts =
      provider.is_host() ? node.schema != nullptr && HasFormula(*node.schema) : RunsInParts(node);
  const bool is_group = node.Is(fused::kElementwise, kOnwardDomain);
  std::string refused;
  for (const KernelEntry* entry : FindKernels(provider, node.domain, node.op_type)) {
    if (!has_parts) return true;
    // A formula stands in for the reference kernel, and for what fast kernels refuse.
    if (options.reference_kernels) continue;
    NodeSpec spec(graph, id, kernel_options);
    const absl::Status taken = kernels::TakesNode(*entry, spec);
    if (taken.ok()) return true;
    absl::StrAppend(&refused, " by ", std::string(entry->name), ": ", std::string(taken.message()));
    if (refusals != nullptr && is_group) refusals->groups.insert(std::string(taken.message()));
  }
  if (refusals != nullptr && !is_group && !refused.empty() && !provider.is_host())
    refusals->nodes.insert(absl::StrCat(graph.Describe(id), refused));
  return false;
}

// A device compiles the kernel of a group of elementwise ops when it is first made, for a fifth of
// a second: all cores make them side by side, and what asks for them after that finds them made.
void MakeGroups(const ExecutionProvider& provider, const Graph& graph,
                const SessionOptions& options, const KernelOptions& kernel_options) {
  std::vector<NodeId> groups;
  for (const NodeId id : graph.node_ids())
    if (graph.node(id).Is(fused::kElementwise, kOnwardDomain)) groups.push_back(id);
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  if (provider.is_host() || options.plan_only || groups.size() < 2 || cores < 2) return;
  std::atomic<size_t> next = 0;
  const auto make = [&] {
    if (!provider.MakeCurrent().ok()) return;
    for (size_t i = next++; i < groups.size(); i = next++)
      HasKernel(provider, graph, groups[i], options, kernel_options);
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(cores, groups.size()); ++i) threads.emplace_back(make);
  for (std::thread& thread : threads) thread.join();
}

void LogRefusals(const LogSink& log, const ExecutionProvider& provider, const Refusals& refusals) {
  for (const std::string& reason : refusals.groups) {
    Warn(log, "session",
         absl::StrCat("elementwise groups run in parts on ", std::string(provider.name()), ": ",
                      reason));
  }
  if (refusals.nodes.empty()) return;
  WriteLog(log, LogLevel::kNews, "session",
           absl::StrCat("nodes that run in parts, refused whole: ",
                        absl::StrJoin(refusals.nodes, "; ")));
}

}  // namespace

absl::StatusOr<Compiled> CompileModel(Graph graph, const SessionOptions& options,
                                      const KernelOptions& kernel_options,
                                      const CompileHooks& hooks) {
  Compiled compiled;
  const ExecutionProvider* provider = &CpuProvider();
  if (options.provider != "cpu") {
    ONWARD_ASSIGN_OR_RETURN(provider, FindProvider(options.provider, options.plan_only));
    if (!options.plan_only) ONWARD_RETURN_IF_ERROR(provider->MakeCurrent());
  }
  Refusals refusals;
  const auto runs = [&](const Graph& g, NodeId id) {
    if (HasKernel(*provider, g, id, options, kernel_options, &refusals)) return true;
    if (!provider->is_host() && RunsInParts(g.node(id))) return false;
    return HasKernel(CpuProvider(), g, id, options, kernel_options);
  };
  const auto expand = [&](Graph& g) {
    return hooks.expand_ops == nullptr ? absl::OkStatus() : hooks.expand_ops(g, runs);
  };
  ONWARD_RETURN_IF_ERROR(expand(graph));
  ONWARD_RETURN_IF_ERROR(InferGraph(graph));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string> device_values,
                          DeviceValuesOf(graph, options.device_values));
  int budget = PatchBudget(options.stop_after_patches);
  PassOptions pass_options;
  pass_options.excess_precision = options.precision != Precision::kStrict;
  pass_options.fuses_narrow_floats = pass_options.excess_precision && !provider->is_host();
  pass_options.narrow_products =
      options.precision == Precision::kFast && kernels::cpu::UsesBf16Products();
  pass_options.evaluate = [&](const Graph& g, NodeId id) {
    return EvaluateOnCpu(g, id, kernel_options);
  };
  if (options.optimize) {
    std::vector<Pass> passes = PortablePipeline();
    const std::vector<Pass> device = DevicePipeline(provider->name());
    if (!options.reference_kernels) passes.insert(passes.end(), device.begin(), device.end());
    ONWARD_ASSIGN_OR_RETURN(compiled.passes, RunPasses(graph, passes, pass_options, budget));
    MakeGroups(*provider, graph, options, kernel_options);
    ONWARD_RETURN_IF_ERROR(expand(graph));
  }
  ONWARD_ASSIGN_OR_RETURN(const std::vector<PassReport> late,
                          RunPasses(graph, hooks.late_passes, pass_options, budget));
  compiled.passes.insert(compiled.passes.end(), late.begin(), late.end());
  if (!provider->is_host()) {
    ONWARD_RETURN_IF_ERROR(Place(graph, *provider, kernel_options, device_values));
    if (const std::string nodes = HostNodesText(graph); !nodes.empty()) {
      WriteLog(options.log, LogLevel::kNews, "session",
               absl::StrCat("nodes that run on the cpu, not on ", std::string(provider->name()),
                            ": ", nodes));
    }
  }
  LogRefusals(options.log, *provider, refusals);
  ONWARD_ASSIGN_OR_RETURN(compiled.program,
                          CompileProgram(std::move(graph), options, kernel_options));
  return compiled;
}

}  // namespace onward::executors
