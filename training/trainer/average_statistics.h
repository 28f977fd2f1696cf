// The running statistics that a uniform average of weights has on the training data, as
// torch.optim.swa_utils.update_bn computes them: the mean over the batches of an epoch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/dataset.h"
#include "onward/session.h"
#include "onward/train_config.pb.h"
#include "training/prepare/trainable_model.h"
#include "training/step/phases.h"
#include "training/step/progress.h"
#include "training/step/training_session.h"

namespace onward::training {

// Runs TrainingPhases::statistics on one batch.
using RunStatistics =
    std::function<absl::Status(const Session::Inputs&, TrainingSession::Outputs&)>;

// By the names of the running statistics, which are `names`, one an output. `data`: the training's;
// `inputs`: of the graph that `run` runs. Errors as Loader and InputsOf.
absl::StatusOr<std::map<std::string, Tensor>> StatisticsOverEpoch(
    const TrainConfig& config, const std::shared_ptr<const Dataset>& data,
    const std::vector<ValueInfo>& inputs, const std::vector<std::string>& names,
    const RunStatistics& run);

// Returns whether a checkpoint of `progress` holds statistics of other weights than its average's.
// `model` is what the config's LoadModel gives.
absl::StatusOr<bool> HasStaleStatistics(const TrainConfig& config, const TrainingProgress& progress,
                                        const TrainableModel& model);

// Computes the statistics of a model whose constants are averaged weights. Relative paths of data
// are below `data_directory`.
absl::Status RenewStatistics(const TrainConfig& config, const std::string& data_directory,
                             TrainableModel& model);

}  // namespace onward::training
