// Compares a training that resumes with the one that a checkpoint is of.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "onward/log.h"
#include "onward/train_config.pb.h"

namespace onward::training {

// The description of a training in a checkpoint, as TrainingState::values: "config" (text format,
// in one line), "directory" and "data_directory" (below which relative paths of its model and its
// data are), "contents" (what its data and its model are, see DataIdentity), and the few settings
// without which no step can be repeated.
std::map<std::string, std::string> DescribeTraining(const TrainConfig& config,
                                                    const std::string& directory,
                                                    const std::string& data_directory);

// Compares two such descriptions; `before` may lack some, as an older checkpoint does.
// InvalidArgument: another seed, batch size, accumulation or optimizer, or, unless
// `allow_other_data`, other data, field by field. `log` hears whatever else is not the same.
absl::Status CheckSameTraining(const std::map<std::string, std::string>& before,
                               const std::map<std::string, std::string>& now, bool allow_other_data,
                               const LogSink& log);

}  // namespace onward::training
