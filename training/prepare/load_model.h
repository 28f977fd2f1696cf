// The model that a configuration trains, with the weights that it starts with.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "onward/log.h"
#include "onward/train_config.pb.h"
#include "training/prepare/trainable_model.h"

namespace onward::training {

// From the file, built, or `given`, where it is one. Relative paths are below `directory`. `log`
// hears what a partial load of weights left out, what of a file's source came back or
// did not (restore_source.h), and that weights of 16 bits have masters (master_weights.h). Errors
// as ImportFile, BuildModel, LoadStateDict and AddHead.
absl::StatusOr<TrainableModel> LoadModel(const TrainConfig& config, const std::string& directory,
                                         const LogSink& log = nullptr,
                                         std::optional<Model> given = std::nullopt);

}  // namespace onward::training
