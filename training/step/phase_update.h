// The part of a training phase that updates the weights. Included by the phases alone.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onward/expr.h"
#include "training/step/phases.h"

namespace onward::training {

// Makes `value` an output of the phase with the name `name`; what had the name has another one
// then. Returns its id.
ValueId AddPhaseOutput(Graph& graph, const Expr& value, const std::string& name);

// Norms, bounds, the optimizer's update and averages, of the kinds that the config asks for.
// `gradients` are in the order of `parameters`, which are those of `phases`; its groups are set.
// Adds the ids that the caller sets or reads to `ids`.
absl::Status WriteUpdate(Model& model, const TrainConfig& config, bool portable,
                         const std::vector<ValueId>& parameters,
                         const std::vector<ValueId>& gradients, TrainingPhases& phases,
                         PhaseIds& ids);

}  // namespace onward::training
