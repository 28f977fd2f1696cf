// Subgraphs as control-flow kernels run them.
#pragma once

#include <memory>

#include "executors/plan/program.h"
#include "onward/kernel.h"

namespace onward::executors {

// A body with its own bindings, cached per run state by the shapes of its inputs and captures.
std::shared_ptr<const Body> MakeBody(std::shared_ptr<const Program> program);

}  // namespace onward::executors
