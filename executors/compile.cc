#include "executors/compile.h"

#include <utility>

#include "executors/evaluate.h"
#include "executors/plan/place.h"
#include "graph/base/status.h"
#include "graph/infer/infer.h"
#include "graph/passes/pass.h"
#include "onnx_io/expand_functions.h"

namespace onward {
namespace {

bool HasKernel(const ExecutionProvider& provider, const Node& node) {
  for (const KernelEntry& entry : provider.kernels()) {
    if (entry.op == node.op_type && entry.domain == node.domain) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<Compiled> CompileModel(Graph graph, const SessionOptions& options,
                                      const KernelOptions& kernel_options) {
  Compiled compiled;
  const ExecutionProvider* provider = &CpuProvider();
  if (options.provider != "cpu") {
    ONWARD_ASSIGN_OR_RETURN(provider, FindProvider(options.provider));
  }
  const auto runs = [&](const Graph& g, NodeId id) {
    return HasKernel(*provider, g.node(id)) || HasKernel(CpuProvider(), g.node(id));
  };
  ONWARD_RETURN_IF_ERROR(ExpandFunctions(graph, runs));
  ONWARD_RETURN_IF_ERROR(InferGraph(graph));
  if (options.optimize) {
    PassOptions pass_options;
    pass_options.stop_after_patches = options.stop_after_patches;
    pass_options.excess_precision = options.precision != Precision::kStrict;
    pass_options.evaluate = [&](const Graph& g, NodeId id) {
      return EvaluateOnCpu(g, id, kernel_options);
    };
    std::vector<Pass> passes = PortablePipeline();
    const std::vector<Pass> device = DevicePipeline(options.provider);
    if (!options.reference_kernels) passes.insert(passes.end(), device.begin(), device.end());
    ONWARD_ASSIGN_OR_RETURN(compiled.passes, RunPasses(graph, passes, pass_options));
    ONWARD_RETURN_IF_ERROR(ExpandFunctions(graph, runs));
  }
  if (!provider->is_host()) ONWARD_RETURN_IF_ERROR(Place(graph, *provider, kernel_options));
  ONWARD_ASSIGN_OR_RETURN(compiled.program,
                          CompileProgram(std::move(graph), options, kernel_options));
  return compiled;
}

}  // namespace onward
