// Which weights of a model are trained.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"

namespace onward {

// InvalidArgument: one of the patterns matches none of the names; `field` is the setting's name.
absl::Status CheckPatterns(absl::Span<const std::string> patterns, const std::string& field,
                           absl::Span<const std::string> initializers);

// Of `initializers` (names) those that match `trainable` (empty: all) and not `frozen`, are floats
// of known dims, have a gradient path to `loss` and are no running statistics. When all are meant,
// the constants of formulas are left out (training/formula_constants.h). InvalidArgument: a pattern
// that matches nothing; a name without wildcards that cannot be trained, with the reason; nothing
// left.
absl::StatusOr<std::vector<ValueId>> TrainableParameters(const Model& model,
                                                         absl::Span<const std::string> initializers,
                                                         ValueId loss,
                                                         absl::Span<const std::string> trainable,
                                                         absl::Span<const std::string> frozen);

// Of `initializers` those that TrainableParameters may choose: floats that are no constants of
// formulas, or that a pattern names. Others keep their values in a training.
std::vector<std::string> MayBeTrained(const Graph& graph,
                                      absl::Span<const std::string> initializers,
                                      absl::Span<const std::string> trainable);

}  // namespace onward
