// metrics.jsonl: one JSON object a line, every number in full precision.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace onward {

// Not thread-safe.
class MetricsFile {
 public:
  // Empty at the start.
  static absl::StatusOr<MetricsFile> Create(const std::string& path);
  // Keeps the lines up to the last one whose "step" is at most `step`; what a killed process wrote
  // after its checkpoint goes. A file that is not there begins.
  static absl::StatusOr<MetricsFile> Continue(const std::string& path, int64_t step);

  // Numbers that are not finite become "nan", "inf" and "-inf", which JSON lacks. The line is with
  // the system when this returns.
  absl::Status Write(const nlohmann::json& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  MetricsFile(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}

  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
};

}  // namespace onward
