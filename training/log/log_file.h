// A file that grows by whole records.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onward::training {

// Not thread-safe.
class LogFile {
 public:
  // Empties a file that is there, or `only_new` (AlreadyExists).
  static absl::StatusOr<LogFile> Create(const std::string& path, bool only_new = false);
  // Cuts off what is after the first `kept` bytes.
  static absl::StatusOr<LogFile> Continue(const std::string& path, size_t kept);
  LogFile(LogFile&& other) noexcept;
  LogFile& operator=(LogFile&&) = delete;
  ~LogFile();

  // The bytes are with the system when this returns, or none of them are, as on a full disk. A file
  // that was removed meanwhile, with its directory or without, is written again as it was.
  absl::Status Append(std::string_view bytes);
  const std::string& path() const { return path_; }

 private:
  LogFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  absl::Status Restore();

  int descriptor_;
  std::string path_;
};

}  // namespace onward::training
