// From an imported model to a program: function bodies, passes, placement, kernels.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "executors/plan/program.h"
#include "executors/shared_arena.h"
#include "graph/passes/pass.h"
#include "onward/explanation.h"
#include "onward/graph.h"
#include "onward/session_options.h"

namespace onward::executors {

// Parts that callers within Onward hand in: those that need ONNX files and messages, which
// executors do not include, and those that no user sees.
struct CompileHooks {
  // Replaces nodes for which `has_kernel` is false by what their op is made of
  // (onnx_io/expand_functions.h). Null: such nodes are errors.
  std::function<absl::Status(Graph& graph,
                             const std::function<bool(const Graph& graph, NodeId id)>& has_kernel)>
      expand_ops = nullptr;
  // Imports the model again with ImportOptions::separate_dim_names, for inputs that do not keep to
  // the names of dims. Null: a copy of the model is kept where its weights are small, and else
  // names may not differ.
  std::function<absl::StatusOr<Model>()> import_again = nullptr;
  // Run on the optimised graph, before it is planned; SessionOptions::stop_after_patches counts
  // their patches too.
  std::vector<Pass> late_passes = {};
  // Where runs compute, for sessions of which one runs at a time; null: memory of its own. Sessions
  // that Session::Share makes have memory of their own.
  std::shared_ptr<SharedArena> arena = nullptr;
};

struct Compiled {
  std::shared_ptr<const Program> program;
  std::vector<PassReport> passes;
  absl::Status rows = {};  // see Session::RowsAreIndependent
};

absl::StatusOr<Compiled> CompileModel(Graph graph, const SessionOptions& options,
                                      const KernelOptions& kernel_options,
                                      const CompileHooks& hooks);

}  // namespace onward::executors
