// The arithmetic that the configuration of a training asks for.
#pragma once

#include "onward/kernel.h"
#include "onward/train_config.pb.h"

namespace onward::training {

// Float16 scales the loss; bfloat16 has the range of float32.
bool ScalesLoss(const TrainConfig& config);

// The precision of the session that runs the phases: a training in bfloat16 rounds the operands of
// its products.
Precision SessionPrecision(const TrainConfig& config);

}  // namespace onward::training
