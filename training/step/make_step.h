// Makes the step of a training.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "training/step/step.h"

namespace onward::training {

// The kind that `context.config` asks for. InvalidArgument: the optimizer and other settings do not
// go together.
absl::StatusOr<std::unique_ptr<TrainingStep>> MakeTrainingStep(const StepContext& context);

}  // namespace onward::training
