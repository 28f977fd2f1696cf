#include "training/log/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::training {
namespace {

absl::Status CannotWrite(const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path, "'"));
}

// All of the bytes at the file's end; an error leaves the file as it was.
bool AppendTo(int descriptor, std::string_view bytes) {
  const off_t before = lseek(descriptor, 0, SEEK_END);
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      if (before >= 0 && ftruncate(descriptor, before) != 0) errno = reason;
      errno = reason;
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

absl::StatusOr<LogFile> LogFile::Create(const std::string& path, bool only_new) {
  const int flags = O_RDWR | O_CREAT | O_CLOEXEC | (only_new ? O_EXCL : O_TRUNC);
  const int descriptor = open(path.c_str(), flags, 0666);
  if (descriptor < 0) return CannotWrite(path);
  return LogFile(descriptor, path);
}

absl::StatusOr<LogFile> LogFile::Continue(const std::string& path, size_t kept) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return CannotWrite(path);
  LogFile file(descriptor, path);
  struct stat now;
  if (fstat(descriptor, &now) != 0) return CannotWrite(path);
  if (static_cast<off_t>(kept) < now.st_size &&
      ftruncate(descriptor, static_cast<off_t>(kept)) != 0)
    return CannotWrite(path);
  return file;
}

LogFile::LogFile(LogFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

LogFile::~LogFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status LogFile::Append(std::string_view bytes) {
  struct stat now;
  if (stat(path_.c_str(), &now) != 0 && errno == ENOENT) ONWARD_RETURN_IF_ERROR(Restore());
  return AppendTo(descriptor_, bytes) ? absl::OkStatus() : CannotWrite(path_);
}

// The descriptor still has what the removed file had.
absl::Status LogFile::Restore() {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  const int descriptor = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return CannotWrite(path_);
  std::vector<char> piece(1 << 16);
  off_t at = 0;
  ssize_t count = 0;
  while ((count = pread(descriptor_, piece.data(), piece.size(), at)) > 0) {
    if (!AppendTo(descriptor, {piece.data(), static_cast<size_t>(count)})) break;
    at += count;
  }
  if (count != 0) {
    const absl::Status status = CannotWrite(path_);
    unlink(path_.c_str());
    close(descriptor);
    return status;
  }
  close(std::exchange(descriptor_, descriptor));
  return absl::OkStatus();
}

}  // namespace onward::training
