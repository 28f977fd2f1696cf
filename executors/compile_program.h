// A placed graph as a program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executors/plan/program.h"
#include "onward/graph.h"
#include "onward/kernel.h"
#include "onward/session_options.h"

namespace onward::executors {

// Chooses a kernel per node and compiles subgraphs. Unimplemented lists every node that no kernel
// takes, with the refusals. `device_values`: the inputs and outputs that lie on the provider's
// device, by name.
absl::StatusOr<std::shared_ptr<const Program>> CompileProgram(
    Graph graph, const SessionOptions& options, const KernelOptions& kernel_options,
    const std::vector<std::string>& device_values);

}  // namespace onward::executors
