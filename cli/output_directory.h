// The directory that a training writes to: which one it is, and what an earlier training left
// there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/train_config.pb.h"

namespace onward::cli {

struct OutputOptions {
  std::string config_path;          // relative paths of the config are below its directory
  std::string output_dir;           // the command's option; "": the config's `output_dir`
  std::string data_directory = {};  // "": the config's directory
  bool resume = false;
  bool overwrite = false;
};

// Wrong usage: neither the option nor the config names one.
absl::StatusOr<std::filesystem::path> OutputDirectoryOf(const TrainConfig& config,
                                                        const OutputOptions& options);

// The names of what a training left in `output`; empty: it may be used.
std::vector<std::string> TrainingFilesIn(const std::filesystem::path& output);

// Checks that a training may write to `output`; changes nothing. Errors: another process trains
// there; a training is there and is neither resumed nor overwritten; it cannot be resumed, because
// its checkpoints are gone; it holds a file that the config reads.
absl::Status CheckOutputDirectory(const std::filesystem::path& output, const TrainConfig& config,
                                  const OutputOptions& options);

// The same for a second directory, which takes what finds no room in the first.
absl::Status CheckSecondDirectory(const std::filesystem::path& second,
                                  const OutputOptions& options);

// Makes the directory, where it is not there, with those above it.
absl::Status MakeOutputDirectory(const std::filesystem::path& output);

// Removes the temporary files of a process that was killed while it wrote. For the process that
// alone trains there.
void RemoveUnfinished(const std::filesystem::path& output);

// Removes what an earlier training left.
absl::Status RemoveTraining(const std::filesystem::path& output);

}  // namespace onward::cli
