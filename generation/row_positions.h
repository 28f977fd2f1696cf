// Positions of each row where a model computes them for the first row only.
#pragma once

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward::generation {

// UseFixedCaches lets a model that asks for the length of its caches see what the first row holds.
// What the model makes of that (positions, their embeddings, angles) gets a batch axis, so that
// each row has its own. False, and nothing has changed, where a node that the outputs need is not
// known to allow that.
absl::StatusOr<bool> UseRowPositions(Model& model);

}  // namespace onward::generation
