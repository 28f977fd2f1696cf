#include "files/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::files {
namespace {

// Names of unfinished files, where a signal handler may read them: no allocation, no lock. A file
// that finds no free slot is left behind by an interrupt.
struct Slot {
  enum : int { kFree, kTaken, kNamed };
  std::atomic<int> state = kFree;
  std::array<char, PATH_MAX> path;
};
std::array<Slot, 16> unfinished;

void NoteUnfinished(const std::string& path) {
  if (path.size() >= PATH_MAX) return;
  for (Slot& slot : unfinished) {
    int expected = Slot::kFree;
    if (!slot.state.compare_exchange_strong(expected, Slot::kTaken)) continue;
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.state = Slot::kNamed;
    return;
  }
}

void ForgetUnfinished(const std::string& path) {
  for (Slot& slot : unfinished)
    if (slot.state == Slot::kNamed && path == slot.path.data()) slot.state = Slot::kFree;
}

// The file that `path` leads to through symbolic links; a link to a file that is not there yet
// stays as it is.
std::string Resolved(const std::string& path) {
  struct stat link;
  if (lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return path;
  char* const real = realpath(path.c_str(), nullptr);
  const std::string resolved = real == nullptr ? path : real;
  std::free(real);
  return resolved;
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  static std::atomic<int> count = 0;
  const std::string target = Resolved(path);
  struct stat before = {};
  const bool exists = stat(target.c_str(), &before) == 0;
  // The standard output may be a file, which others write to as well.
  const bool standard = absl::StartsWith(path, "/dev/") || absl::StartsWith(path, "/proc/");
  if (exists && !S_ISDIR(before.st_mode) && (standard || !S_ISREG(before.st_mode))) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor >= 0) return AtomicFile(descriptor, path, "");
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path, "'"));
  }
  for (int attempt = 0;; ++attempt) {
    const std::string temporary = absl::StrCat(target, ".", getpid(), "-", count++, ".tmp");
    const int descriptor =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor >= 0) {
      NoteUnfinished(temporary);
      if (exists) static_cast<void>(fchmod(descriptor, before.st_mode & 0777));
      return AtomicFile(descriptor, target, temporary);
    }
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
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  ForgetUnfinished(temporary_);
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
  if (temporary_.empty()) {
    if (close(std::exchange(descriptor_, -1)) == 0) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path_, "'"));
  }
  if (fsync(descriptor_) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path_, "'"));
  }
  ForgetUnfinished(temporary_);
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

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  ONWARD_RETURN_IF_ERROR(file.Append(bytes));
  return file.Commit();
}

std::string SafeFileName(std::string name) {
  for (char& c : name) {
    const bool safe =
        std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    if (!safe) c = '_';
  }
  return name.empty() || name[0] == '.' ? absl::StrCat("_", name) : name;
}

void RemoveUnfinishedFiles() {
  for (const Slot& slot : unfinished)
    if (slot.state == Slot::kNamed) unlink(slot.path.data());
}

}  // namespace onward::files
