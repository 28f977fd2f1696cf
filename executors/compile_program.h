// A placed graph as a program.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "executors/plan/program.h"
#include "onward/graph.h"
#include "onward/kernel.h"
#include "onward/session_options.h"

namespace onward::executors {

// Chooses a kernel per node and compiles subgraphs. Unimplemented lists every node that no kernel
// takes, with the refusals.
absl::StatusOr<std::shared_ptr<const Program>> CompileProgram(Graph graph,
                                                              const SessionOptions& options,
                                                              const KernelOptions& kernel_options);

}  // namespace onward::executors
