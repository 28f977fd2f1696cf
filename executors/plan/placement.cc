#include "executors/plan/placement.h"

#include <algorithm>

#include "executors/plan/memory.h"

namespace onward::executors {
namespace {

using Place = SlotPlan::Place;

class Sharing {
 public:
  Sharing(const Program& program, Binding& binding) : program_(program), binding_(binding) {}

  void Run() {
    binding_.last.resize(program_.slots.size());
    for (size_t i = 0; i < program_.slots.size(); ++i) {
      SlotPlan& each = binding_.slots[i];
      binding_.last[i] = program_.slots[i].last;
      each.root = static_cast<int32_t>(i);
      each.place = each.own;
      if (each.own != Place::kInput) each.external = -1;
    }
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      for (const int32_t result : program_.step_outputs(program_.steps[s])) {
        if (result >= 0 && plan(result).own == Place::kArena)
          Share(static_cast<int32_t>(s), result);
      }
    }
    PlaceOutputs();
  }

 private:
  SlotPlan& plan(int32_t slot) { return binding_.slots[static_cast<size_t>(slot)]; }
  int64_t bytes(int32_t slot) const {
    return binding_.values[static_cast<size_t>(slot)].tensor.byte_size();
  }
  const Slot& slot(int32_t index) const { return program_.slots[static_cast<size_t>(index)]; }
  int32_t& last(int32_t slot) { return binding_.last[static_cast<size_t>(slot)]; }

  // Lets the output `result` of step `s` live in an input's memory where it may.
  void Share(int32_t s, int32_t result) {
    const Step& step = program_.steps[static_cast<size_t>(s)];
    const absl::Span<const int32_t> operands = program_.step_inputs(step);
    const int alias = plan(result).alias;
    if (alias >= 0) {
      const int32_t operand = operands[static_cast<size_t>(alias)];
      if (operand >= 0 && slot(operand).device == step.device) ShareAlias(operand, result);
      return;
    }
    if (plan(result).in_place == 0) return;
    // A graph output on a device may be a state's new value: see FindUpdatesInPlace.
    const bool may_update = step.device > 0 && slot(result).is_output;
    if (may_update && UpdatesInput(s, result)) return;
    int32_t root = -1;
    for (size_t i = 0; i < operands.size() && i < 32; ++i) {
      if (!(plan(result).in_place >> i & 1) || !MayOverwrite(s, i, result)) continue;
      const int32_t found = plan(operands[i]).root;
      const bool updates = may_update && UpdatesInput(slot(found).first, found);
      if (root < 0 || updates) root = found;
      if (!may_update || updates) break;
    }
    if (root >= 0) Join(result, root);
  }

  // True if step `s`, the last reader of an input of the graph, may write `result` over it.
  bool UpdatesInput(int32_t s, int32_t result) {
    const absl::Span<const int32_t> operands =
        program_.step_inputs(program_.steps[static_cast<size_t>(s)]);
    for (size_t i = 0; i < operands.size() && i < 32; ++i) {
      if (!(plan(result).in_place >> i & 1) || operands[i] < 0) continue;
      const int32_t root = plan(operands[i]).root;
      if (plan(root).place == Place::kInput && last(root) == s &&
          slot(root).device == slot(result).device && bytes(operands[i]) == bytes(result))
        return true;
    }
    return false;
  }

  void ShareAlias(int32_t operand, int32_t result) {
    const int32_t root = plan(operand).root;
    const bool in_arena = plan(root).place == Place::kArena;
    if (slot(result).is_output && (!in_arena || root_has_output(root))) return;
    if (in_arena || plan(root).place == Place::kInput) Join(result, root);
  }

  // True if step `s`, the last reader of the memory of its input `input`, may write `result` there.
  bool MayOverwrite(int32_t s, size_t input, int32_t result) {
    const Step& step = program_.steps[static_cast<size_t>(s)];
    const absl::Span<const int32_t> operands = program_.step_inputs(step);
    const int32_t operand = operands[input];
    if (operand < 0) return false;
    const int32_t root = plan(operand).root;
    if (plan(root).place != Place::kArena || last(root) != s || slot(root).device != step.device ||
        bytes(operand) != bytes(result) || bytes(root) != bytes(result) || root_has_output(root)) {
      return false;
    }
    for (size_t j = 0; j < operands.size(); ++j) {
      if (j == input || operands[j] < 0 || plan(operands[j]).root != root) continue;
      if (operands[j] != operand || !(plan(result).in_place >> j & 1)) return false;
    }
    for (const int32_t sibling : program_.step_outputs(step)) {
      if (sibling >= 0 && sibling != result && plan(sibling).root == root) return false;
    }
    return true;
  }

  // Returns whether a graph output lives in the memory of `root`.
  bool root_has_output(int32_t root) {
    return last(root) >= static_cast<int32_t>(program_.steps.size());
  }

  void Join(int32_t result, int32_t root) {
    plan(result).root = root;
    plan(result).place = plan(root).place;
    plan(result).external = plan(root).external;
    last(root) = std::max(last(root), slot(result).last);
  }

  // Roots go first: what lives in their memory follows.
  void PlaceOutputs() {
    binding_.copied_outputs.clear();
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const int32_t output = program_.outputs[i], root = plan(output).root;
      if (plan(root).place == Place::kArena && plan(output).own == Place::kArena &&
          bytes(root) == bytes(output)) {
        plan(root).place = Place::kOutput;
        plan(root).external = static_cast<int32_t>(i);
      } else {
        binding_.copied_outputs.push_back(static_cast<int32_t>(i));
      }
    }
    for (SlotPlan& each : binding_.slots) {
      if (each.place != Place::kArena || plan(each.root).place != Place::kOutput) continue;
      each.place = Place::kOutput;
      each.external = plan(each.root).external;
    }
  }

  const Program& program_;
  Binding& binding_;
};

}  // namespace

void ShareMemory(const Program& program, Binding& binding) { Sharing(program, binding).Run(); }

void FindUpdatesInPlace(const Program& program, Binding& binding) {
  binding.over_input.assign(program.outputs.size(), -1);
  const auto bytes = [&](int32_t slot) {
    return binding.values[static_cast<size_t>(slot)].tensor.byte_size();
  };
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const SlotPlan& output = binding.slots[static_cast<size_t>(program.outputs[i])];
    if (output.place != Place::kOutput || output.external != static_cast<int32_t>(i)) continue;
    const SlotPlan& made = binding.slots[static_cast<size_t>(output.root)];
    const int32_t s = program.slots[static_cast<size_t>(output.root)].first;
    const auto operands = program.step_inputs(program.steps[static_cast<size_t>(s)]);
    for (size_t k = 0; k < operands.size() && k < 32; ++k) {
      if (!(made.in_place >> k & 1) || operands[k] < 0) continue;
      const SlotPlan& operand = binding.slots[static_cast<size_t>(operands[k])];
      if (operand.place != Place::kInput || operand.root != operands[k] ||
          binding.last[static_cast<size_t>(operand.root)] != s ||
          bytes(operands[k]) != bytes(output.root))
        continue;
      // Another operand may be the same memory by another name.
      const bool alone =
          std::count_if(operands.begin(), operands.end(), [&](int32_t other) {
            return other >= 0 && binding.slots[static_cast<size_t>(other)].root == operand.root;
          }) == 1;
      if (alone) binding.over_input[i] = operand.external;
      break;
    }
  }
}

bool KeepsSharing(const Binding& base, const Binding& binding, const std::vector<char>& changed) {
  for (size_t i = 0; i < changed.size(); ++i) {
    const SlotPlan &before = base.slots[i], &now = binding.slots[i];
    const auto root = static_cast<size_t>(before.root);
    if (!changed[i] && !changed[root]) continue;
    if (before.own != now.own || before.alias != now.alias || before.in_place != now.in_place)
      return false;
    if (root == i) continue;
    const bool was_equal =
        base.values[i].tensor.byte_size() == base.values[root].tensor.byte_size();
    const bool is_equal =
        binding.values[i].tensor.byte_size() == binding.values[root].tensor.byte_size();
    if (was_equal != is_equal) return false;
  }
  return true;
}

void PlanArenas(const Program& program, Binding& binding) {
  binding.arena_bytes.assign(program.providers.size(), 0);
  for (size_t device = 0; device < program.providers.size(); ++device) {
    std::vector<Lifetime> lifetimes;
    std::vector<int32_t> owners;  // slot index, or ~step for scratch
    lifetimes.reserve(program.steps.size());
    owners.reserve(program.steps.size());
    for (size_t i = 0; i < program.slots.size(); ++i) {
      const SlotPlan& plan = binding.slots[i];
      if (plan.place != Place::kArena || plan.root != static_cast<int32_t>(i) ||
          program.slots[i].device != device)
        continue;
      lifetimes.push_back(
          {binding.values[i].tensor.byte_size(), program.slots[i].first, binding.last[i]});
      owners.push_back(plan.root);
    }
    for (size_t s = 0; s < program.steps.size(); ++s) {
      const StepPlan& step = binding.steps[s];
      if (program.steps[s].device != device || step.scratch_bytes == 0 ||
          step.mode != StepPlan::Mode::kRun)
        continue;
      lifetimes.push_back({step.scratch_bytes, static_cast<int32_t>(s), static_cast<int32_t>(s)});
      owners.push_back(~static_cast<int32_t>(s));
    }
    const ArenaPlan arena = PlanArena(lifetimes);
    for (size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] >= 0) {
        binding.slots[static_cast<size_t>(owners[i])].offset = arena.offsets[i];
      } else {
        binding.steps[static_cast<size_t>(~owners[i])].scratch = arena.offsets[i];
      }
    }
    binding.arena_bytes[device] = arena.bytes;
  }
  for (SlotPlan& each : binding.slots) {
    if (each.place == Place::kArena)
      each.offset = binding.slots[static_cast<size_t>(each.root)].offset;
  }
}

}  // namespace onward::executors
