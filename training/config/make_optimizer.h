// The optimizer that a configuration names.
#pragma once

#include <string>

#include "onward/train_config.pb.h"
#include "training/optimizers/lbfgs.h"
#include "training/optimizers/optimizer.h"

namespace onward::training {

// "AdamW", "LBFGS"; "" where the configuration names none.
std::string OptimizerName(const OptimizerSettings& settings);

// Not for LBFGS, whose step is not a graph. The options are the fields that are set: an entry of
// Optimizers() and its message have the same ones.
OptimizerConfig MakeOptimizer(const OptimizerSettings& settings);
OptimizerOptions GroupOptions(const ParameterGroupConfig& group);

Lbfgs::Options MakeLbfgsOptions(const OptimizerSettings::LBFGS& settings);

}  // namespace onward::training
