// Makes the kernel of one row of a provider's list.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct NamedKernel {
  std::unique_ptr<Kernel> kernel;
  std::string name;  // the entry's, and the instruction set: "softmax_avx512"
};

// OK if the entry takes the node, else why it refuses: what MakeNamedKernel would return, without
// the kernel.
absl::Status TakesNode(const KernelEntry& entry, NodeSpec& spec);

// Calls the entry's maker for the widest of its instruction sets that the node's options and the
// process allow. Unimplemented: none of them is allowed, or what the maker refuses.
absl::StatusOr<NamedKernel> MakeNamedKernel(const KernelEntry& entry, NodeSpec& spec);

}  // namespace onward::kernels
