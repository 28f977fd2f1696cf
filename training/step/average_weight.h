// The averages of a training's weights (torch.optim.swa_utils.AveragedModel), step by step.
#pragma once

#include "absl/status/status.h"
#include "onward/train_config.pb.h"
#include "training/step/progress.h"
#include "training/step/training_session.h"

namespace onward::training {

// Gives the coming step the share that its weights have in their average, and counts the step in
// `progress` where it is one that the average is of. Does nothing without `config.average`.
absl::Status SetAverageWeight(const TrainConfig& config, TrainingProgress& progress,
                              TrainingSession& session);

}  // namespace onward::training
