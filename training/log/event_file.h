// Files that TensorBoard shows: TFRecords of events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace onward::training {

// Not thread-safe.
class EventFile {
 public:
  // A new file in `directory`, which is made when it is not there.
  static absl::StatusOr<std::unique_ptr<EventFile>> Create(const std::string& directory);
  // A new file for a training that resumes after `step`: takes the events of later steps, and a
  // record that a killed process wrote in part, off the files that are in `directory`.
  // `evaluated`: false: the evaluation after `step` is still to be made; its events, whose tags
  // begin with "evaluation/", go too.
  static absl::StatusOr<std::unique_ptr<EventFile>> Continue(const std::string& directory,
                                                             int64_t step, bool evaluated = true);
  virtual ~EventFile() = default;

  // "train/loss": what is before the slash becomes a group.
  virtual absl::Status Scalar(std::string_view tag, int64_t step, double value) = 0;
  // Writes finite values, in buckets that grow by 1.1, as SummaryWriter.add_histogram of PyTorch
  // has them; others are left out.
  virtual absl::Status Histogram(std::string_view tag, int64_t step,
                                 absl::Span<const float> values) = 0;
  // Writes what was given since the last time; nothing is shown before. An error loses it, and
  // leaves the file whole.
  virtual absl::Status Flush() = 0;
  virtual const std::string& path() const = 0;
};

}  // namespace onward::training
