// The kernel of a provider that computes a node.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executors/provider.h"
#include "onward/kernel.h"

namespace onward::executors {

// The entry of `provider` that takes the node, and why faster ones refused. Null kernel: none takes
// it.
struct KernelChoice {
  std::unique_ptr<Kernel> kernel;
  std::string name;
  std::vector<std::string> refusals;
};
absl::StatusOr<KernelChoice> ChooseKernel(const ExecutionProvider& provider, NodeSpec& spec,
                                          bool reference_only);

}  // namespace onward::executors
