// The configuration of a training: from files, from text, or written in C++.
//
//   onward::TrainConfig config;
//   config.mutable_built()->set_name("mnist_cnn");
//   config.mutable_loss()->mutable_cross_entropy();
//   config.mutable_optimizer()->mutable_adam()->set_lr(1e-3);
//   config.set_epochs(3);  // and data, by mutable_data() or by TrainerOptions::data
//
// train_config.proto and what it imports say everything about each field.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/train_config.pb.h"

namespace onward {

// Reads a file of text format (.textproto) or JSON, applies the overrides
// ("optimizer.adamw.lr=0.1", as `onward train --set`) and checks what every field may be.
// InvalidArgument names the file with line and column (an override: itself) and the field.
absl::StatusOr<TrainConfig> ReadTrainConfig(const std::string& path,
                                            const std::vector<std::string>& overrides = {});

// From text format. Only the spelling is checked (see ValidateTrainConfig): InvalidArgument names
// the field; what an earlier version spelled otherwise comes with its new name.
absl::StatusOr<TrainConfig> ParseTrainConfig(const std::string& text);

// Checks a whole configuration: InvalidArgument names the field that is missing, out of range, or
// does nothing beside others. Trainer::Create calls it.
absl::Status ValidateTrainConfig(const TrainConfig& config);

}  // namespace onward
