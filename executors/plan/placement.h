// Which memory each computed value of a binding gets: that of an input of its step, the caller's,
// or its own part of an arena. All expect SlotPlan::own, `alias` and `in_place` and the dims of the
// values to be there.
#pragma once

#include <vector>

#include "executors/plan/binding.h"

namespace onward::executors {

// Sets `place`, `root` and `external` of every slot, `last` and `copied_outputs`: outputs of steps
// live in an input's memory where the kernel allows it and nothing else would notice, and graph
// outputs in the caller's where a step can write it.
void ShareMemory(const Program& program, Binding& binding);

// After ShareMemory. Output i may be written to the memory of input over_input[i] of the graph: the
// step that makes it may work in place on that input and is the last that reads it.
void FindUpdatesInPlace(const Program& program, Binding& binding);

// True if what ShareMemory decided for `base` is right for `binding` too, which differs from it in
// the slots `changed`: the kernels allow the same and what shares memory has equal sizes again.
bool KeepsSharing(const Binding& base, const Binding& binding, const std::vector<char>& changed);

// Last: offsets of all that is left in arenas.
void PlanArenas(const Program& program, Binding& binding);

}  // namespace onward::executors
