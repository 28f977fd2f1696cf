// The exchange between the trainers of several ranks before their first step.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "onward/communicator.h"
#include "onward/train_config.pb.h"
#include "training/step/training_session.h"

namespace onward::training {

// Refuses ranks that are not alike before they exchange a tensor, and gives all of them the state
// of rank 0. `phases`: the first so many of the session make a step. `more`: what must be alike
// besides the configuration, the model and its gradients, with its name in messages.
// FailedPrecondition names the ranks that differ, and in what.
absl::Status StartTogether(Communicator& communicator, const TrainConfig& config, size_t phases,
                           const std::vector<std::pair<std::string, std::string>>& more,
                           TrainingSession& session);

}  // namespace onward::training
