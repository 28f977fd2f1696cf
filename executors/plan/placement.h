// Which memory each computed value of a binding gets: that of an input of its step, the caller's,
// or its own part of an arena.
#pragma once

#include <cstdint>
#include <vector>

#include "executors/plan/binding.h"

namespace onward {

class Placement {
 public:
  // Both must outlive it.
  Placement(const Program& program, Binding& binding);

  // Lets the output `result` of step `s`, placed in the arena so far, live in an input's memory
  // where the kernel allows it and nothing else would notice. Steps come in order.
  void Share(int32_t s, int32_t result);
  // After all steps: gives graph outputs the caller's memory where a step can write it, and lists
  // those that must be copied.
  void PlaceOutputs();
  // Last: offsets of all that is left in arenas.
  void PlanArenas();

 private:
  SlotPlan& plan(int32_t slot) { return binding_.slots[static_cast<size_t>(slot)]; }
  SlotValue& value(int32_t slot) { return binding_.values[static_cast<size_t>(slot)]; }
  const Slot& slot(int32_t index) const { return program_.slots[static_cast<size_t>(index)]; }
  // Whether a graph output lives in the memory of `root`.
  bool root_has_output(int32_t root) const;
  // Whether step `s`, the last reader of the memory of its input `input`, may write `result` there.
  bool MayOverwrite(int32_t s, size_t input, int32_t result);
  void Join(int32_t result, int32_t root);

  const Program& program_;
  Binding& binding_;
  std::vector<int32_t> last_;  // per slot: last step that reads its memory through any alias
};

}  // namespace onward
