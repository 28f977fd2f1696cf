#include "onnx_io/write_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onward {

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  static std::atomic<int> count = 0;
  for (int attempt = 0;; ++attempt) {
    const std::string temporary = absl::StrCat(path, ".", getpid(), "-", count++, ".tmp");
    const int descriptor =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor >= 0) return AtomicFile(descriptor, path, temporary);
    if (errno != EEXIST || attempt == 100) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot create '", path, "'"));
    }
  }
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

absl::Status AtomicFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path_, "'"));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  if (fsync(descriptor_) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path_, "'"));
  }
  close(std::exchange(descriptor_, -1));
  // The name itself is durable once its directory is.
  const size_t slash = path_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int parent = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent >= 0) {
    fsync(parent);
    close(parent);
  }
  return absl::OkStatus();
}

}  // namespace onward
