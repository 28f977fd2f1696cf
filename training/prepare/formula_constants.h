// Constants of formulas among the initializers that an exporter wrote.
#pragma once

#include <map>
#include <string>

#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::training {

// Guesses for files that do not say which initializers are parameters: those of `initializers`
// (floats) that a source would not have as parameters, each with the reason, by their values:
// - one element under a name that an exporter made, which no layer reads as a weight or bias;
// - masks: an infinity or a number beyond 1e30, or nothing but zeros and numbers below -1000;
// - tables of angles: two tensors of equal dims whose squares add up to one number everywhere
//   (rotary embeddings), or one whose neighbours or halves do (sinusoidal positions) and that is
//   not named "weight";
// - frequencies of angles: named "inv_freq", as rotary embeddings of Transformers name a buffer of
//   theirs, or 1, r, r^2, ... under a name that an exporter made;
// - distances of positions: of rank 3 or more, of several rows along the last axis, each in even
//   steps (ALiBi);
// - weights of classes of a loss;
// - under names that an exporter made, the zeros that recurrences start from, and the ones and
//   zeros of an InstanceNormalization.
std::map<ValueId, std::string> FormulaConstants(const Graph& graph,
                                                absl::Span<const ValueId> initializers);

}  // namespace onward::training
