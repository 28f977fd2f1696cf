// The state of a training in a checkpoint, and bringing it back.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "training/checkpoint/checkpoint.h"
#include "training/step/progress.h"
#include "training/step/step.h"
#include "training/step/training_session.h"

namespace onward::training {

// The session's state, what `step` keeps beside it, and `progress`. Shares the tensors' memory.
absl::StatusOr<TrainingState> ReadState(const TrainingSession& session, const TrainingStep& step,
                                        const TrainingProgress& progress);

// Brings `state` back and returns its progress. InvalidArgument: the tensors are of another model;
// DataLoss: a number is missing. Both leave the session as it is; the message begins with `path`.
absl::StatusOr<TrainingProgress> RestoreState(TrainingState state, const std::string& path,
                                              TrainingSession& session, TrainingStep& step);

}  // namespace onward::training
