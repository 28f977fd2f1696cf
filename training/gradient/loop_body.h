// Parts of the gradients of Loop and Scan: which states carry gradients, and what of the
// forward iterations they need.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "training/gradient/body.h"

namespace onward::gradient {

// The parts of a loop's body, by value of its graph.
struct LoopParts {
  const Graph* body = nullptr;
  std::vector<ValueId> states_in, states_out;
  std::vector<ValueId> elements;   // of scanned inputs
  std::vector<ValueId> collected;  // elements of stacked outputs
};

// Which of them there are gradients for: from outside, then for the body.
struct LoopFlow {
  // From outside: gradients that are wanted or given.
  std::vector<bool> wants_state, wants_element, wants_capture;
  std::vector<bool> has_state, has_collected;  // upstream
  // Indices of the body's values.
  std::vector<size_t> carried;    // states with a gradient from iteration to iteration
  std::vector<size_t> elements;   // elements with a gradient
  std::vector<size_t> captures;   // captures with a gradient
  std::vector<size_t> collected;  // stacked outputs whose gradient is used
};

// Fills the second part: states feed states, so it goes around until nothing changes.
absl::Status FindFlow(const LoopParts& parts, LoopFlow& flow);

// One iteration, differentiated.
struct LoopGradient {
  BodyGradient body;
  std::vector<ValueId> states;    // gradients of flow.carried
  std::vector<ValueId> elements;  // of flow.elements
  std::vector<ValueId> captures;  // of flow.captures
};
absl::StatusOr<LoopGradient> DifferentiateIteration(const LoopParts& parts, LoopFlow& flow,
                                                    const GradientOptions& options);

// Values of the body that the forward loop has to give: those of `states_in` that the gradients
// need, then random draws.
struct SavedValues {
  std::vector<size_t> states;                      // indices of parts.states_in
  std::vector<std::pair<ValueId, ValueId>> drawn;  // as in BodyGradient
};
SavedValues ValuesToSave(const LoopParts& parts, const LoopGradient& gradient);

}  // namespace onward::gradient
