// If, Loop and Scan over bodies whose values lie in given memory: the host's, or either side's.
#pragma once

#include <memory>

#include "kernels/body_memory.h"
#include "onward/kernel.h"

namespace onward::kernels::cpu {

// Conditions and numbers of turns lie on the host.
absl::StatusOr<std::unique_ptr<Kernel>> MakeIf(const NodeSpec& spec, const BodyMemories& memories);
absl::StatusOr<std::unique_ptr<Kernel>> MakeLoop(const NodeSpec& spec,
                                                 const BodyMemories& memories);
absl::StatusOr<std::unique_ptr<Kernel>> MakeScan(const NodeSpec& spec,
                                                 const BodyMemories& memories);

}  // namespace onward::kernels::cpu
