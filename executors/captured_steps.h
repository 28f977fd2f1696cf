// Steps whose work on a device is recorded once and then put on its stream as a whole (CUDA's
// graphs), which costs the host one call instead of one or more a step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "executors/plan/binding.h"

namespace onward::executors {

// Consecutive steps, from `begin` up to `end`.
struct CapturedSteps {
  int32_t begin = 0;
  int32_t end = 0;
  std::vector<int32_t> callers = {};       // slots that they use in callers' memory
  std::shared_ptr<void> graph = nullptr;   // null: not recorded
  bool refused = false;                    // the provider could not record them
  std::vector<const void*> recorded = {};  // where `callers` lay when `graph` was recorded
  std::vector<const void*> last = {};      // and in the last run
};

// The ranges of steps that can be recorded: those on a device that copy nothing from or to the host
// and read and write nothing but constants, their device's arena and callers' memory there.
// In order; ranges too short to be worth it are left out.
std::vector<CapturedSteps> FindCapturableSteps(const Program& program, const Binding& binding);

}  // namespace onward::executors
