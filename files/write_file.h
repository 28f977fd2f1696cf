// Files that appear whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onward::files {

// Written under a temporary name in the same directory; Commit makes it durable and renames it. A
// file that is not committed is removed. A symbolic link stays one: what it points to is replaced.
// A file that is replaced passes its permissions on. Devices and pipes, such as /dev/stdout, are
// written directly.
class AtomicFile {
 public:
  // NotFound, PermissionDenied, ... as the system says.
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  absl::Status Append(std::string_view bytes);
  absl::Status Commit();

 private:
  AtomicFile(int descriptor, std::string path, std::string temporary)
      : descriptor_(descriptor), path_(std::move(path)), temporary_(std::move(temporary)) {}

  int descriptor_;
  std::string path_;
  std::string temporary_;  // empty: written directly
};

// The whole file at once.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

// A name for a file: characters that are unsafe in one become "_".
std::string SafeFileName(std::string name);

// Removes the temporary files of every AtomicFile that is neither committed nor destroyed. May be
// called from a signal handler that ends the process.
void RemoveUnfinishedFiles();

}  // namespace onward::files
