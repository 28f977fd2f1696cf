// Makes bindings, and the keys by which they are found again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executors/plan/binding.h"
#include "executors/plan/program.h"

namespace onward::executors {

// The part of the cache key that these inputs give: rank and dims of each (rank -1: not a tensor).
void AppendBindingKey(absl::Span<const SlotValue> inputs, std::vector<int64_t>* key);

// `inputs` are the program's inputs and captures by dtype and dims; data is not read. `similar`: a
// binding of the same program for as many workers, to take from what has not changed; null is none.
// Errors name the node.
absl::StatusOr<std::shared_ptr<const Binding>> BindProgram(
    const Program& program, absl::Span<const SlotValue> inputs, int num_workers,
    const std::shared_ptr<const Binding>& similar = nullptr);

}  // namespace onward::executors
