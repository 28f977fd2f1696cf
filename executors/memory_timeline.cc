#include "executors/memory_timeline.h"

#include <algorithm>

namespace onward::executors {

std::vector<int64_t> LiveBytes(const Program& program, const Binding& binding) {
  const size_t num_steps = program.steps.size();
  std::vector<int64_t> change(num_steps + 1, 0);
  for (size_t i = 0; i < program.slots.size(); ++i) {
    const SlotPlan& plan = binding.slots[i];
    if (plan.place != SlotPlan::Place::kArena || plan.root != static_cast<int32_t>(i)) continue;
    const int64_t bytes = binding.values[i].tensor.byte_size();
    const auto first = static_cast<size_t>(std::max(program.slots[i].first, 0));
    const auto last = static_cast<size_t>(std::max(binding.last[i], 0));
    change[std::min(first, num_steps)] += bytes;
    change[std::min(last + 1, num_steps)] -= bytes;
  }
  std::vector<int64_t> live(num_steps);
  int64_t now = 0;
  for (size_t s = 0; s < num_steps; ++s) {
    now += change[s];
    const StepPlan& step = binding.steps[s];
    live[s] = now + (step.mode == StepPlan::Mode::kRun ? step.scratch_bytes : 0);
  }
  return live;
}

}  // namespace onward::executors
