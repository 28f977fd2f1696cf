// The notes that a choice of weights adds to a table of parameters.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "onward/nn/parameters.h"
#include "onward/weight_choice.h"

namespace onward::cli {

// Sets whether and why each parameter is trained. What is not among the choices is a constant of
// the graph, unless modules say what it is.
void ShowChoices(absl::Span<const WeightChoice> choices,
                 std::vector<nn::ParameterInfo>& parameters);

}  // namespace onward::cli
