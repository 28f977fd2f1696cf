// Models out of the checkpoints of a training, whether it has ended, is under way or was killed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/log.h"
#include "onward/train_config.pb.h"
#include "training/checkpoint/checkpoint.h"

namespace onward::training {

// Begins the keys of a checkpoint's values that are notes on the data, for the model's metadata.
inline constexpr char kCheckpointNotePrefix[] = "note/";

struct CheckpointChoice {
  enum Kind : uint8_t {
    kBest,  // by the metric of the evaluations
    kLast,  // the newest whole one
    kStep,
  };
  Kind kind = kBest;
  int64_t step = 0;  // of kStep
};

// "best", "last" or a step. InvalidArgument: something else.
absl::StatusOr<CheckpointChoice> ParseCheckpointChoice(const std::string& text);

// Loads one of the checkpoints in `directories`; LoadedCheckpoint::damaged says which newer ones
// were not used. Errors list the checkpoints there are. NotFound: there is none, or none of that
// step, or none with a metric; DataLoss: it is damaged.
absl::StatusOr<LoadedCheckpoint> ChooseCheckpoint(const std::vector<std::string>& directories,
                                                  const CheckpointChoice& choice,
                                                  bool largest_is_best);

// The config that the training of a checkpoint had, and the directory below which its relative
// paths are. FailedPrecondition: the checkpoint does not have them.
struct CheckpointConfigOf {
  TrainConfig config;
  std::string directory;
};
absl::StatusOr<CheckpointConfigOf> ConfigOfCheckpoint(const LoadedCheckpoint& checkpoint);

// The trained model in inference form. A checkpoint that was written between the evaluations of a
// uniform average holds statistics of BatchNormalizations that are not the average's: they are
// computed on the training's data, which `log` hears. `data_directory`: below which relative paths
// of data are, "": the training's. Errors as those of LoadModel; InvalidArgument: the checkpoint is
// of another model than the config's; FailedPrecondition: the data cannot be read.
absl::StatusOr<Model> ModelOfCheckpoint(const TrainConfig& config, const std::string& directory,
                                        const LoadedCheckpoint& checkpoint,
                                        const std::string& data_directory = "",
                                        const LogSink& log = nullptr);

}  // namespace onward::training
