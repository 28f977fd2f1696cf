// From an imported model to a program: function bodies, passes, placement, kernels.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "executors/plan/program.h"
#include "graph/passes/pass.h"
#include "onward/session_options.h"

namespace onward {

struct Compiled {
  std::shared_ptr<const Program> program;
  std::vector<PassReport> passes;
};

absl::StatusOr<Compiled> CompileModel(Graph graph, const SessionOptions& options,
                                      const KernelOptions& kernel_options);

}  // namespace onward
