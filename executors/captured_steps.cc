#include "executors/captured_steps.h"

#include <algorithm>

namespace onward::executors {
namespace {

// A graph of one or two kernels costs as much to start as the kernels.
constexpr int kLeastSteps = 3;

bool HasFixedAddresses(const Program& program, const Binding& binding, const Step& step) {
  const auto fixed = [&](int32_t slot) {
    if (slot < 0) return true;
    const SlotPlan::Place place = binding.slots[static_cast<size_t>(slot)].place;
    return place == SlotPlan::Place::kConstant ||
           (place == SlotPlan::Place::kArena &&
            program.slots[static_cast<size_t>(slot)].device == step.device);
  };
  const absl::Span<const int32_t> inputs = program.step_inputs(step);
  const absl::Span<const int32_t> outputs = program.step_outputs(step);
  return std::all_of(inputs.begin(), inputs.end(), fixed) &&
         std::all_of(outputs.begin(), outputs.end(), fixed);
}

}  // namespace

std::vector<CapturedSteps> FindCapturableSteps(const Program& program, const Binding& binding) {
  std::vector<CapturedSteps> found;
  if (program.providers.size() == 1) return found;  // the host's
  const auto num_steps = static_cast<int32_t>(program.steps.size());
  CapturedSteps range;
  int works = 0;
  const auto finish = [&](int32_t end) {
    range.end = end;
    if (works >= kLeastSteps) found.push_back(range);
    works = 0;
  };
  for (int32_t s = 0; s < num_steps; ++s) {
    const Step& step = program.steps[static_cast<size_t>(s)];
    const StepPlan::Mode mode = binding.steps[static_cast<size_t>(s)].mode;
    if (mode == StepPlan::Mode::kSkip) continue;
    const bool capturable =
        mode == StepPlan::Mode::kRun && !program.providers[step.device]->is_host() &&
        !step.kernel->copies_host_memory() && HasFixedAddresses(program, binding, step);
    if (!capturable) {
      finish(s);
      continue;
    }
    if (works++ == 0) range.begin = s;
  }
  finish(num_steps);
  return found;
}

}  // namespace onward::executors
