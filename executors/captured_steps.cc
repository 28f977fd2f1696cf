#include "executors/captured_steps.h"

#include <algorithm>

namespace onward::executors {
namespace {

// A graph of one or two kernels costs as much to start as the kernels.
constexpr int kLeastSteps = 3;

class Finder {
 public:
  Finder(const Program& program, const Binding& binding, bool is_body)
      : program_(program), binding_(binding), is_body_(is_body) {}

  std::vector<CapturedSteps> Find() {
    const auto num_steps = static_cast<int32_t>(program_.steps.size());
    for (int32_t s = 0; s < num_steps; ++s) {
      const Step& step = program_.steps[static_cast<size_t>(s)];
      const StepPlan::Mode mode = binding_.steps[static_cast<size_t>(s)].mode;
      if (mode == StepPlan::Mode::kSkip) continue;
      const bool capturable = mode == StepPlan::Mode::kRun &&
                              !program_.providers[step.device]->is_host() &&
                              !step.kernel->copies_host_memory() &&
                              (step.kernel->pure() || !is_body_) && HasLastingAddresses(step);
      if (!capturable) {
        Finish(s);
        continue;
      }
      if (works_++ == 0) range_.begin = s;
      AddCallers(step);
    }
    Finish(num_steps);
    return std::move(found_);
  }

 private:
  using Place = SlotPlan::Place;

  Place PlaceOf(int32_t slot) const { return binding_.slots[static_cast<size_t>(slot)].place; }
  bool IsCallers(int32_t slot) const {
    return PlaceOf(slot) == Place::kInput || PlaceOf(slot) == Place::kOutput;
  }

  // Returns whether the step uses no memory that is another one in each run.
  bool HasLastingAddresses(const Step& step) const {
    const auto lasts = [&](int32_t slot) {
      if (slot < 0 || PlaceOf(slot) == Place::kConstant) return true;
      return (PlaceOf(slot) == Place::kArena || IsCallers(slot)) &&
             program_.slots[static_cast<size_t>(slot)].device == step.device;
    };
    const absl::Span<const int32_t> inputs = program_.step_inputs(step);
    const absl::Span<const int32_t> outputs = program_.step_outputs(step);
    return std::all_of(inputs.begin(), inputs.end(), lasts) &&
           std::all_of(outputs.begin(), outputs.end(), lasts);
  }

  void AddCallers(const Step& step) {
    for (const auto& slots : {program_.step_inputs(step), program_.step_outputs(step)}) {
      for (const int32_t slot : slots) {
        if (slot >= 0 && IsCallers(slot)) range_.callers.push_back(slot);
      }
    }
  }

  void Finish(int32_t end) {
    range_.end = end;
    if (works_ >= kLeastSteps) found_.push_back(std::move(range_));
    range_ = CapturedSteps();
    works_ = 0;
  }

  const Program& program_;
  const Binding& binding_;
  const bool is_body_;
  CapturedSteps range_;  // begun, and not finished
  int works_ = 0;        // of it
  std::vector<CapturedSteps> found_;
};

}  // namespace

Recording* CapturedSteps::Find(const std::vector<const void*>& addresses) {
  constexpr size_t kMost = 4;
  const auto found = std::find_if(recordings.begin(), recordings.end(),
                                  [&](const Recording& each) { return each.callers == addresses; });
  if (found != recordings.end()) {
    std::rotate(recordings.begin(), found, found + 1);
    return &recordings.front();
  }
  if (recordings.size() == kMost) recordings.pop_back();
  recordings.insert(recordings.begin(), {addresses});
  return nullptr;
}

std::vector<CapturedSteps> FindCapturableSteps(const Program& program, const Binding& binding,
                                               bool is_body) {
  if (program.providers.size() == 1) return {};  // the host's
  return Finder(program, binding, is_body).Find();
}

}  // namespace onward::executors
