// Makes the graphs that train a model.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/dataset.h"
#include "onward/train_config.pb.h"
#include "training/prepare/trainable_model.h"
#include "training/step/phases.h"

namespace onward::training {

struct PhaseOptions {
  bool portable = false;        // in ops of the standard alone, for other runtimes
  bool all_reduce = false;      // ranks make the step together (training/rewrite/all_reduce.h)
  int stop_after_patches = -1;  // see TrainerOptions
};

// `fields`: what the data has, with the batch as first dim to come. InvalidArgument: an output, a
// target or a parameter that is not there, a loss that is not a scalar; others as MakeLoss,
// AddGradients and AddOptimizer.
absl::StatusOr<TrainingPhases> MakeTrainingPhases(const TrainableModel& model,
                                                  const TrainConfig& config,
                                                  absl::Span<const Field> fields,
                                                  const PhaseOptions& options = {});

}  // namespace onward::training
