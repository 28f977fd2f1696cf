// Constants of formulas among the initializers that an exporter wrote.
#pragma once

#include <set>

#include "absl/types/span.h"
#include "graph/ir/graph.h"

namespace onward {

// Those of `initializers` (floats) that a source would not have as parameters, by their values:
// - one element that no layer reads as a weight or bias and that is not named as a parameter
//   (`head.tau`, `logit_scale`);
// - masks: an infinity or a number beyond 1e30, or nothing but zeros and numbers below -1000;
// - tables of angles: two tensors of equal dims whose squares add up to one number everywhere
//   (rotary embeddings), or one whose neighbours or halves do (sinusoidal positions);
// - frequencies of angles: 1, r, r^2, ..., or named "inv_freq", as rotary embeddings of
// Transformers
//   name a buffer of theirs;
// - distances of positions: of rank 3 or more, each row along the last axis in even steps (ALiBi);
// - under generated names, the zeros that recurrences start from, and the ones and zeros of an
//   InstanceNormalization.
std::set<ValueId> FormulaConstants(const Graph& graph, absl::Span<const ValueId> initializers);

}  // namespace onward
