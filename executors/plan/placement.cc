#include "executors/plan/placement.h"

#include <algorithm>

#include "executors/plan/memory.h"

namespace onward {

Placement::Placement(const Program& program, Binding& binding)
    : program_(program), binding_(binding) {
  last_.reserve(program.slots.size());
  for (const Slot& slot : program.slots) last_.push_back(slot.last);
}

void Placement::Share(int32_t s, int32_t result) {
  const Step& step = program_.steps[static_cast<size_t>(s)];
  const absl::Span<const int32_t> operands = program_.step_inputs(step);
  const int alias = plan(result).alias;
  if (alias >= 0) {
    const int32_t operand = operands[static_cast<size_t>(alias)];
    if (operand >= 0 && slot(operand).device == step.device) {
      const int32_t root = plan(operand).root;
      const SlotPlan::Place place = plan(root).place;
      if (place == SlotPlan::Place::kArena || !slot(result).is_output) {
        if (place == SlotPlan::Place::kArena && slot(result).is_output && root_has_output(root))
          return;
        Join(result, root);
        if (place != SlotPlan::Place::kConstant || value(operand).tensor.data == nullptr) return;
        // The same elements under other dims: nothing is left to do while running.
        value(result).tensor.data = value(operand).tensor.data;
        if (step.num_outputs == 1)
          binding_.steps[static_cast<size_t>(s)].mode = StepPlan::Mode::kSkip;
      }
    }
    return;
  }
  for (size_t i = 0; i < operands.size() && i < 32; ++i) {
    if (!(plan(result).in_place >> i & 1) || !MayOverwrite(s, i, result)) continue;
    Join(result, plan(operands[i]).root);
    return;
  }
}

bool Placement::MayOverwrite(int32_t s, size_t input, int32_t result) {
  const Step& step = program_.steps[static_cast<size_t>(s)];
  const absl::Span<const int32_t> operands = program_.step_inputs(step);
  const int32_t operand = operands[input];
  if (operand < 0) return false;
  const int32_t root = plan(operand).root;
  const int64_t bytes = value(result).tensor.byte_size();
  if (plan(root).place != SlotPlan::Place::kArena || last_[static_cast<size_t>(root)] != s ||
      slot(root).device != step.device || value(operand).tensor.byte_size() != bytes ||
      value(root).tensor.byte_size() != bytes || root_has_output(root)) {
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

bool Placement::root_has_output(int32_t root) const {
  return last_[static_cast<size_t>(root)] >= static_cast<int32_t>(program_.steps.size());
}

void Placement::Join(int32_t result, int32_t root) {
  plan(result).root = root;
  plan(result).place = plan(root).place;
  plan(result).external = plan(root).external;
  last_[static_cast<size_t>(root)] = std::max(last_[static_cast<size_t>(root)], slot(result).last);
}

void Placement::PlaceOutputs() {
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const int32_t output = program_.outputs[i];
    SlotPlan& placed = plan(output);
    const int32_t root = placed.root;
    if (placed.place == SlotPlan::Place::kArena && plan(root).place == SlotPlan::Place::kArena &&
        slot(output).device == 0 &&
        value(root).tensor.byte_size() == value(output).tensor.byte_size()) {
      for (size_t j = 0; j < binding_.slots.size(); ++j) {
        if (binding_.slots[j].root != root) continue;
        binding_.slots[j].place = SlotPlan::Place::kOutput;
        binding_.slots[j].external = static_cast<int32_t>(i);
      }
      continue;
    }
    if (placed.place == SlotPlan::Place::kOutput && placed.external == static_cast<int32_t>(i))
      continue;
    binding_.copied_outputs.push_back(static_cast<int32_t>(i));
  }
}

void Placement::PlanArenas() {
  binding_.arena_bytes.resize(program_.providers.size(), 0);
  for (size_t device = 0; device < program_.providers.size(); ++device) {
    std::vector<Lifetime> lifetimes;
    std::vector<int32_t> owners;  // slot index, or ~step for scratch
    for (size_t i = 0; i < program_.slots.size(); ++i) {
      const auto index = static_cast<int32_t>(i);
      if (slot(index).device != device || plan(index).place != SlotPlan::Place::kArena ||
          plan(index).root != index)
        continue;
      lifetimes.push_back({value(index).tensor.byte_size(), slot(index).first, last_[i]});
      owners.push_back(index);
    }
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      const StepPlan& step = binding_.steps[s];
      if (program_.steps[s].device != device || step.scratch_bytes == 0 ||
          step.mode != StepPlan::Mode::kRun)
        continue;
      lifetimes.push_back({step.scratch_bytes, static_cast<int32_t>(s), static_cast<int32_t>(s)});
      owners.push_back(~static_cast<int32_t>(s));
    }
    const ArenaPlan arena = PlanArena(lifetimes);
    for (size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] >= 0) {
        plan(owners[i]).offset = arena.offsets[i];
      } else {
        binding_.steps[static_cast<size_t>(~owners[i])].scratch = arena.offsets[i];
      }
    }
    binding_.arena_bytes[device] = arena.bytes;
  }
  for (SlotPlan& each : binding_.slots) {
    if (each.place == SlotPlan::Place::kArena) each.offset = plan(each.root).offset;
  }
}

}  // namespace onward
