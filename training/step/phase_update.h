// The part of a training phase that updates the weights. Included by the phases alone.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "training/step/phases.h"

namespace onward::training {

// Norms, bounds, the optimizer's update and averages, of the kinds that the config asks for.
// `gradients` are in the order of `parameters`, which are those of `phases`; its groups are set.
// Adds the ids that the caller sets or reads to `ids`.
absl::Status WriteUpdate(Model& model, const TrainConfig& config, bool portable,
                         const std::vector<ValueId>& parameters,
                         const std::vector<ValueId>& gradients, TrainingPhases& phases,
                         PhaseIds& ids);

}  // namespace onward::training
