#include "kernels/cuda/code_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/crc32c.h"

namespace onward::kernels::cuda {
namespace {

namespace fs = std::filesystem;

constexpr off_t kLargest = off_t{64} << 20;  // bytes of a file that is read

// "" where none is named.
fs::path NamedDirectory() {
  if (const char* named = std::getenv("ONWARD_KERNEL_CACHE"); named != nullptr) return named;
  const char* caches = std::getenv("XDG_CACHE_HOME");
  if (caches != nullptr && *caches == '/') return fs::path(caches) / "onward" / "kernels";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return fs::path(home) / ".cache" / "onward" / "kernels";
}

bool IsOfUserAlone(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// FNV-1a with 64 bits. Files hold their keys: two that share a name only replace each other.
std::string PathOf(const std::string& directory, const std::string& key) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : key) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return absl::StrCat(directory, "/", absl::Hex(hash, absl::kZeroPad16), ".kernel");
}

// All that stands before the code; as long for any code.
std::string HeadOf(const std::string& key, std::string_view code) {
  return absl::StrCat("onward kernel 1\n", absl::Hex(code.size(), absl::kZeroPad16), " ",
                      absl::Hex(Crc32c(code), absl::kZeroPad8), "\n", key, "\n");
}

std::optional<std::string> ReadAll(int file) {
  struct stat status = {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || !IsOfUserAlone(status) ||
      status.st_size > kLargest) {
    return std::nullopt;
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got = read(file, bytes.data() + at, bytes.size() - at);
    if (got <= 0) return std::nullopt;
    at += static_cast<size_t>(got);
  }
  return bytes;
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), bytes.size());
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

}  // namespace

std::string CodeCacheDirectory() {
  const fs::path directory = NamedDirectory();
  if (directory.empty()) return "";
  std::error_code error;
  fs::create_directories(directory.parent_path(), error);
  mkdir(directory.c_str(), S_IRWXU);
  struct stat status = {};
  if (lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      !IsOfUserAlone(status)) {
    return "";
  }
  return directory.string();
}

std::optional<std::string> ReadCode(const std::string& directory, const std::string& key) {
  if (directory.empty()) return std::nullopt;
  const int file = open(PathOf(directory, key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return std::nullopt;
  std::optional<std::string> bytes = ReadAll(file);
  close(file);
  if (!bytes) return std::nullopt;
  const size_t head = HeadOf(key, "").size();
  if (bytes->size() < head) return std::nullopt;
  const std::string_view code = std::string_view(*bytes).substr(head);
  if (!absl::StartsWith(*bytes, HeadOf(key, code))) return std::nullopt;
  return std::string(code);
}

absl::Status WriteCode(const std::string& directory, const std::string& key,
                       const std::string& code) {
  if (directory.empty()) return absl::OkStatus();
  const std::string path = PathOf(directory, key);
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int file = mkostemp(temporary.data(), O_CLOEXEC);  // for the user alone
  if (file < 0) return absl::ErrnoToStatus(errno, directory);
  const bool written = WriteAll(file, HeadOf(key, code)) && WriteAll(file, code);
  if (close(file) == 0 && written && rename(temporary.c_str(), path.c_str()) == 0)
    return absl::OkStatus();
  const absl::Status status = absl::ErrnoToStatus(errno, path);
  unlink(temporary.c_str());
  return status;
}

}  // namespace onward::kernels::cuda
