// Writes checkpoints beside the training and removes old ones.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "training/checkpoint/checkpoint.h"

namespace onward::training {

struct CheckpointOptions {
  std::string directory;  // made when it is not there, or no longer
  // The directory of checkpoints that find no room in `directory`; "": none.
  std::string second_directory = {};
  int keep = 2;           // the newest ones; at least 1
  bool keep_best = true;  // by the metric
  bool largest_is_best = false;
  // True if those that are there already are of this training. Else they go once its first one is
  // durable.
  bool continues = true;
  int64_t keep_every = 0;  // also those whose step is a multiple; 0: none
};

// FailedPrecondition: a process writes checkpoints to `directory`.
absl::Status CheckNotInUse(const std::string& directory);

// Not thread-safe.
class CheckpointWriter {
 public:
  // Takes away what a killed process left half written. FailedPrecondition: another process writes
  // checkpoints to this directory.
  static absl::StatusOr<std::unique_ptr<CheckpointWriter>> Open(const CheckpointOptions& options);
  virtual ~CheckpointWriter() = default;  // waits

  // Begins to write in a thread and returns; waits first for a write that is not done. The tensors
  // must keep their values: those of TrainingSession do, which never writes to a tensor that
  // somebody else holds. Returns what Wait would have, of the write before this one: an error such
  // as a full disk leaves all earlier checkpoints as they are.
  virtual absl::Status Save(TrainingState state) = 0;
  // Until nothing is being written. The error of the last Save, once.
  virtual absl::Status Wait() = 0;
  // Waits, and makes room on a full disk: removes the oldest checkpoint, but neither the best one
  // nor the newest that is whole. False: there is none to remove. A Save that finds no room does so
  // by itself.
  virtual bool GiveWay() = 0;
  // Waits. What the last Save did that its caller should know, once: it wrote to the second
  // directory, or older checkpoints gave way.
  virtual std::string TakeNotice() = 0;
};

}  // namespace onward::training
