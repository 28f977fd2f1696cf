// Names of the values that training adds to a model, and models that use them for others.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"

namespace onward {

// "loss", "gradient_norm", "optimizer/step": one value in all phases (training/phases.h).
bool IsTrainingName(std::string_view name);

// Renames what the model computes under such names, its outputs included, which a training leaves
// out; `scored` is the output that the loss is of, and the result its name from now on.
// InvalidArgument: an input or one of the `initializers` has such a name, which users write in
// configs and data.
absl::StatusOr<std::string> FreeTrainingNames(Graph& graph, const std::string& scored,
                                              absl::Span<const std::string> initializers);

}  // namespace onward
