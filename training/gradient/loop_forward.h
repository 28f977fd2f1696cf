// The forward Loop with what its gradient needs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onward/gradient.h"

namespace onward::gradient {

// The way in which the backward loop gets a value of each iteration.
enum class From {
  kStack,     // a stacked output of the forward loop
  kSequence,  // a sequence that the forward loop fills, where shapes change
  kPrefix,    // the iterations before are run again: for sequences, which cannot be in a sequence
};
struct Saved {
  ValueId value;   // of the body
  ValueId target;  // of the differentiated body
  From from = From::kStack;
  size_t state = 0;    // its number, for kPrefix
  ValueId outer = {};  // the output of the forward loop
};

// Replaces the Loop by one that also gives the saved values, whose `outer` is set, and at last the
// numbers of its iterations: int64[iterations]. Returns its outputs. `original`: the node's body.
absl::StatusOr<std::vector<ValueId>> ExtendForward(const GradientScope& scope,
                                                   const Graph& original, size_t states,
                                                   std::vector<Saved>& saved);

}  // namespace onward::gradient
