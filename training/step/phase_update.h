// The part of a training phase that updates the weights. Included by training/step/phases.cc alone.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/builder/expr.h"
#include "training/step/phases.h"

namespace onward {

// Makes `value` the output `name`; what had the name has another one then.
absl::Status NameOutput(Graph& graph, const Expr& value, const std::string& name);

// Norms, bounds, the optimizer's update and averages, of the kinds that the config asks for.
// `gradients` are in the order of `parameters`, which are those of `phases`; its groups are set.
absl::Status WriteUpdate(Model& model, const TrainConfig& config, bool portable,
                         const std::vector<ValueId>& parameters,
                         const std::vector<ValueId>& gradients, TrainingPhases& phases);

}  // namespace onward
