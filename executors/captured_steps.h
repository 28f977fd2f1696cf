// Steps whose work on a device is recorded once and then put on its stream as a whole (CUDA's
// graphs), which costs the host one call instead of one or more a step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "executors/plan/binding.h"

namespace onward::executors {

// The work of steps on memory of callers at some addresses.
struct Recording {
  std::vector<const void*> callers;
  // Null: they ran once with these, and are not recorded.
  std::unique_ptr<RecordedWork> work = nullptr;
};

// Consecutive steps, from `begin` up to `end`.
struct CapturedSteps {
  int32_t begin = 0;
  int32_t end = 0;
  std::vector<int32_t> callers = {};       // slots that they use in callers' memory
  bool refused = false;                    // the provider could not record them
  std::vector<Recording> recordings = {};  // most recently used first

  // The recording for callers' memory at these addresses, recorded or not yet; null: they are
  // new, and noted. What alternates between a few places, as states do that are not updated in
  // place, is found again.
  Recording* Find(const std::vector<const void*>& addresses);
};

// The ranges of steps that can be recorded: those on a device that copy nothing from or to the host
// and read and write nothing but constants, their device's arena and callers' memory there.
// In order; ranges too short to be worth it are left out. `is_body`: random steps have a number in
// each pass, as an argument.
std::vector<CapturedSteps> FindCapturableSteps(const Program& program, const Binding& binding,
                                               bool is_body);

}  // namespace onward::executors
