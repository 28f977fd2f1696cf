// Which weights of a model are trained, and why.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/graph.h"
#include "onward/weight_choice.h"

namespace onward::training {

// InvalidArgument: one of the patterns matches none of the names; `field` is the setting's name.
absl::Status CheckPatterns(absl::Span<const std::string> patterns, const std::string& field,
                           absl::Span<const std::string> initializers);

// For each of `initializers` (names) that holds floats, in their order. An invalid `loss`: paths
// are not looked at. Patterns are not checked.
absl::StatusOr<std::vector<WeightChoice>> ChooseTrainable(
    const Model& model, absl::Span<const std::string> initializers, ValueId loss,
    absl::Span<const std::string> trainable, absl::Span<const std::string> frozen);

// Those that are trained. InvalidArgument: a pattern that matches nothing; a name without wildcards
// that cannot be trained, with the reason; nothing left. `choices`, where given, gets all.
absl::StatusOr<std::vector<ValueId>> TrainableParameters(
    const Model& model, absl::Span<const std::string> initializers, ValueId loss,
    absl::Span<const std::string> trainable, absl::Span<const std::string> frozen,
    std::vector<WeightChoice>* choices = nullptr);

// Returns those of `initializers` that TrainableParameters may choose: floats that are not
// constants, or that a pattern names. Others keep their values in a training.
std::vector<std::string> MayBeTrained(const Model& model,
                                      absl::Span<const std::string> initializers,
                                      absl::Span<const std::string> trainable);

}  // namespace onward::training
