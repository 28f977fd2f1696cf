// Models of which only some values are wanted.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward::executors {

// Makes the values `names` of the model's graph its outputs, in that order:
// SessionOptions::outputs. What only others need falls. Without names the model stays as it is.
// InvalidArgument: an unknown value, a name that comes twice, or a model whose outputs update its
// state.
absl::Status SelectOutputs(Model& model, const std::vector<std::string>& names);

}  // namespace onward::executors
