#include "training/gradient/loop_body.h"

#include "onward/status.h"
#include "training/gradient/path.h"

namespace onward::gradient {
namespace {

std::vector<size_t> IndicesOf(const std::vector<bool>& marks) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i]) indices.push_back(i);
  }
  return indices;
}

bool At(const std::vector<bool>& marks, ValueId id) { return marks[static_cast<size_t>(id.index)]; }

// Grows `states` by those that a marked value reaches in one iteration.
std::vector<bool> ActiveStates(const LoopParts& parts, const std::vector<NodeId>& order,
                               const LoopFlow& flow, std::vector<ValueId>& sources) {
  std::vector<bool> active = flow.wants_state;
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<ValueId> all = sources;
    for (const size_t k : IndicesOf(active)) all.push_back(parts.states_in[k]);
    const Paths paths = FindPaths(*parts.body, order, all, {}, {});
    for (size_t k = 0; k < active.size(); ++k) {
      if (active[k] || !At(paths.active, parts.states_out[k])) continue;
      active[k] = changed = true;
    }
  }
  for (const size_t k : IndicesOf(active)) sources.push_back(parts.states_in[k]);
  return active;
}

}  // namespace

absl::Status FindFlow(const LoopParts& parts, LoopFlow& flow) {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, parts.body->TopologicalOrder());
  std::vector<ValueId> sources, targets;
  for (const size_t i : IndicesOf(flow.wants_capture)) sources.push_back(parts.body->captures()[i]);
  for (const size_t i : IndicesOf(flow.wants_element)) sources.push_back(parts.elements[i]);
  const std::vector<bool> active = ActiveStates(parts, order, flow, sources);
  std::vector<bool> useful = flow.has_state;
  for (const size_t i : IndicesOf(flow.has_collected)) targets.push_back(parts.collected[i]);
  Paths paths;
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<ValueId> all = targets;
    for (const size_t k : IndicesOf(useful)) all.push_back(parts.states_out[k]);
    paths = FindPaths(*parts.body, order, sources, all, {});
    for (size_t k = 0; k < useful.size(); ++k) {
      if (useful[k] || !active[k] || !At(paths.useful, parts.states_in[k])) continue;
      useful[k] = changed = true;
    }
  }
  for (size_t k = 0; k < active.size(); ++k) {
    if (active[k] && useful[k]) flow.carried.push_back(k);
  }
  for (size_t i = 0; i < parts.elements.size(); ++i) {
    if (flow.wants_element[i] && paths.on_path(parts.elements[i])) flow.elements.push_back(i);
  }
  for (size_t i = 0; i < flow.wants_capture.size(); ++i) {
    if (flow.wants_capture[i] && paths.on_path(parts.body->captures()[i]))
      flow.captures.push_back(i);
  }
  for (const size_t i : IndicesOf(flow.has_collected)) {
    if (At(paths.active, parts.collected[i])) flow.collected.push_back(i);
  }
  return absl::OkStatus();
}

absl::StatusOr<LoopGradient> DifferentiateIteration(const LoopParts& parts, LoopFlow& flow,
                                                    const GradientOptions& options) {
  std::vector<ValueId> targets, wrt;
  for (const size_t k : flow.carried) targets.push_back(parts.states_out[k]);
  for (const size_t i : flow.collected) targets.push_back(parts.collected[i]);
  for (const size_t k : flow.carried) wrt.push_back(parts.states_in[k]);
  for (const size_t i : flow.elements) wrt.push_back(parts.elements[i]);
  for (const size_t i : flow.captures) wrt.push_back(parts.body->captures()[i]);
  LoopGradient gradient;
  ONWARD_ASSIGN_OR_RETURN(gradient.body, DifferentiateBody(*parts.body, targets, wrt, options));
  const std::vector<ValueId>& all = gradient.body.gradients;
  const size_t carried = flow.carried.size(), elements = flow.elements.size();
  gradient.states.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(carried));
  std::vector<size_t> kept_elements, kept_captures;
  for (size_t i = carried; i < all.size(); ++i) {
    if (!all[i].valid()) continue;
    const bool element = i < carried + elements;
    (element ? gradient.elements : gradient.captures).push_back(all[i]);
    if (element) kept_elements.push_back(flow.elements[i - carried]);
    if (!element) kept_captures.push_back(flow.captures[i - carried - elements]);
  }
  flow.elements = std::move(kept_elements);
  flow.captures = std::move(kept_captures);
  return gradient;
}

SavedValues ValuesToSave(const LoopParts& parts, const LoopGradient& gradient) {
  SavedValues saved;
  for (size_t k = 0; k < parts.states_in.size(); ++k) {
    if (gradient.body.Needs(parts.states_in[k])) saved.states.push_back(k);
  }
  saved.drawn = gradient.body.drawn;
  return saved;
}

}  // namespace onward::gradient
