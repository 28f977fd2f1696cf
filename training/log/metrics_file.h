// metrics.jsonl: one JSON object a line, every number in full precision.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "training/log/log_file.h"

namespace onward::training {

// The lines of such a file, as far as they are whole; none where there is no file.
std::vector<nlohmann::json> ReadMetrics(const std::string& path);

// A number that ReadMetrics gave, also one that is not finite.
double MetricOf(const nlohmann::json& number);

// Not thread-safe.
class MetricsFile {
 public:
  // Empty at the start.
  static absl::StatusOr<MetricsFile> Create(const std::string& path);
  // Keeps the lines up to the last one whose "step" is at most `step`; what a killed process wrote
  // after its checkpoint goes. A file that is not there begins.
  // `evaluated`: false: the evaluation after `step` is still to be made, and goes too.
  static absl::StatusOr<MetricsFile> Continue(const std::string& path, int64_t step,
                                              bool evaluated = true);

  // Numbers that are not finite become "nan", "inf" and "-inf", which JSON lacks. The line is with
  // the system when this returns.
  absl::Status Write(const nlohmann::json& line);

 private:
  explicit MetricsFile(LogFile file) : file_(std::move(file)) {}

  LogFile file_;
};

}  // namespace onward::training
