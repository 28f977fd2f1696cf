// Checkpoints: what a training needs to resume bit for bit. A checkpoint is a directory
// <sequence>-step-<step> with state.safetensors (the tensors) and manifest.json (the rest, and
// checksums of everything); it appears whole or not at all, and is durable once it has its name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/tensor.h"

namespace onward::training {

struct TrainingState {
  int64_t step = 0;              // steps that are done
  std::optional<double> metric;  // of the last evaluation; what the best checkpoint is chosen by
  std::map<std::string, Tensor> tensors;      // parameters, what optimizers keep, averages
  std::map<std::string, std::string> values;  // everything else, as text in UTF-8
};

// Writes the files of a checkpoint into `path`, a directory that exists, and makes them durable.
absl::Status WriteCheckpointFiles(const TrainingState& state, const std::string& path);

// DataLoss: a file of it is missing or damaged; the message names the file, and the tensor where
// one is. Tensors may lie in the mapped file, as ReadSafetensors says.
absl::StatusOr<TrainingState> LoadCheckpoint(const std::string& path);

struct CheckpointEntry {
  std::string path;
  int64_t sequence = 0;  // in the order of writing
  int64_t step = 0;
  std::optional<double> metric;  // of a readable manifest
};

// The checkpoints in `directory`, the newest first. What else is there is passed over.
absl::StatusOr<std::vector<CheckpointEntry>> ListCheckpoints(const std::string& directory);
// Those of several directories that one training writes to.
absl::StatusOr<std::vector<CheckpointEntry>> ListCheckpoints(
    const std::vector<std::string>& directories);

// Those with a metric, the best one first, of equal ones that of the earliest step, where it was
// reached.
std::vector<const CheckpointEntry*> BestFirst(const std::vector<CheckpointEntry>& entries,
                                              bool largest_is_best);
// The first of those; null when none has a metric.
const CheckpointEntry* BestCheckpoint(const std::vector<CheckpointEntry>& newest_first,
                                      bool largest_is_best);

struct LoadedCheckpoint {
  TrainingState state;
  std::string path;
  std::vector<std::string> damaged;  // why newer ones were not used
};

// The newest one that is whole. NotFound: there is none at all; DataLoss: all are damaged.
absl::StatusOr<LoadedCheckpoint> LoadNewestCheckpoint(const std::string& directory);
absl::StatusOr<LoadedCheckpoint> LoadNewestCheckpoint(const std::vector<std::string>& directories);

// InvalidArgument lists how the tensors of `state` differ from `expected` in names, dtypes and
// dims: a checkpoint of another model.
absl::Status CheckSameTensors(const TrainingState& state,
                              const std::map<std::string, Tensor>& expected);

}  // namespace onward::training
