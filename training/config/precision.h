// What a configuration says of the arithmetic of a training.
#pragma once

#include "kernels/kernel.h"
#include "training/config/train_config.pb.h"

namespace onward {

// Float16 scales the loss; bfloat16 has the range of float32.
bool ScalesLoss(const TrainConfig& config);

// Of the session that runs the phases: products of a training in bfloat16 round their operands.
Precision SessionPrecision(const TrainConfig& config);

}  // namespace onward
