// How good a model is on a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"
#include "onward/train_config.pb.h"
#include "onward/training_report.h"
#include "training/data/loader.h"
#include "training/step/batch_inputs.h"

namespace onward::training {

// Runs the phase `evaluate` of MakeTrainingPhases on one batch.
using RunBatch = std::function<absl::StatusOr<Session::Outputs>(const Session::Inputs& inputs)>;

// One epoch of the loader, from its first batch.
absl::StatusOr<Evaluation> Evaluate(Loader& loader, const DataConfig& data, const LossConfig& loss,
                                    const std::vector<ValueInfo>& inputs, const RunBatch& run);

}  // namespace onward::training
