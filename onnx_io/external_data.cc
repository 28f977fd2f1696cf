#include "onnx_io/external_data.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "files/utf8.h"
#include "graph/base/checked.h"
#include "onnx/onnx_pb.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// Opens component by component and follows no link: for kernels without openat2. ELOOP or ENOTDIR
// where a component is a link.
int OpenWithoutLinks(int directory, const std::string& path) {
  std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
  int current = dup(directory);
  for (size_t i = 0; i < parts.size() && current >= 0; ++i) {
    const int flags = i + 1 < parts.size() ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
                                           : kOpenFlags | O_NOFOLLOW;
    const int next = openat(current, parts[i].c_str(), flags);
    const int error = errno;
    close(current);
    errno = error;
    current = next;
  }
  return current;
}

int OpenBeneath(int directory, const std::string& path, bool follow_links) {
  open_how how = {};
  how.flags = kOpenFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  if (!follow_links) how.resolve |= RESOLVE_NO_SYMLINKS;
  const long result = syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how));
  if (result < 0 && (errno == ENOSYS || errno == EPERM)) return OpenWithoutLinks(directory, path);
  return static_cast<int>(result);
}

std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> resolved(realpath(path.c_str(), nullptr), &free);
  return resolved == nullptr ? "" : resolved.get();
}

// Opens `file`, an absolute path without links, when it lies beneath `directory`; -1 otherwise. No
// link is followed again, so a file swapped for a link in between is refused.
int OpenRealBeneath(const std::string& directory, const std::string& file) {
  const std::string real = RealPath(directory);
  const std::string prefix = real == "/" ? real : real + "/";
  errno = EXDEV;
  if (real.empty() || file.compare(0, prefix.size(), prefix) != 0) return -1;
  const Descriptor root(open(real.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0) return -1;
  return OpenBeneath(root.get(), file.substr(prefix.size()), false);
}

// For a path with links on the way: what it leads to must lie beneath one of the two directories.
int OpenThroughLinks(const std::string& directory, const std::string& real_directory,
                     const std::string& path) {
  const std::string real = RealPath(directory + "/" + path);
  if (real.empty()) return -1;
  const int file = OpenRealBeneath(directory, real);
  if (file >= 0 || real_directory.empty()) return file;
  return OpenRealBeneath(real_directory, real);
}

absl::Status CheckLocation(const std::string& location) {
  const auto refuse = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "external data location '", files::PrintableUtf8(location), "' ", std::string(why)));
  };
  if (location.empty()) return absl::InvalidArgumentError("external data without a location");
  if (location.size() >= PATH_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("external data location of ", location.size(),
                                                   " bytes is longer than a path can be"));
  }
  if (location.find('\0') != std::string::npos) return refuse("contains a NUL byte");
  if (!files::IsUtf8(location)) return refuse("is not valid UTF-8");
  if (location[0] == '/') return refuse("is absolute; it must be relative to the model");
  for (const auto part : absl::StrSplit(location, '/')) {
    if (part == "..") return refuse("leaves the model's directory with '..'");
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ParseSize(const std::string& key, const std::string& text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "external data ", key, " '", files::PrintableUtf8(text), "' is not a size in bytes"));
  }
  return value;
}

}  // namespace

absl::StatusOr<std::shared_ptr<files::MappedFile>> ExternalFiles::Open(
    const std::string& location) {
  ONWARD_RETURN_IF_ERROR(CheckLocation(location));
  if (const auto it = open_.find(location); it != open_.end()) return it->second;
  const Descriptor root(open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the directory '", directory_, "'"));
  }
  int file = OpenBeneath(root.get(), location, true);
  const bool linked = file < 0 && (errno == EXDEV || errno == ELOOP || errno == ENOTDIR);
  if (linked) file = OpenThroughLinks(directory_, real_directory_, location);
  if (file < 0 && linked && errno == EXDEV) {
    return absl::InvalidArgumentError(absl::StrCat(
        "external data '", location, "' leads outside the model's directory '", directory_, "'"));
  }
  if (file < 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot open external data '", location, "' in '", directory_, "'"));
  }
  ONWARD_ASSIGN_OR_RETURN(auto mapped,
                          to_read_ ? files::MappedFile::FromDescriptorToRead(file, location)
                                   : files::MappedFile::FromDescriptor(
                                         file, location, files::MappedFile::Writes::kPrivate));
  return open_[location] = std::move(mapped);
}

absl::StatusOr<ExternalBytes> FindExternalBytes(const onnx::TensorProto& proto, int64_t needed,
                                                ExternalFiles* files) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : proto.external_data()) {
    static const auto& allowed =
        *new std::set<std::string>{"location", "offset", "length", "checksum"};
    if (!allowed.contains(entry.key())) {
      return absl::InvalidArgumentError(
          absl::StrCat("external data has the unknown key '", files::PrintableUtf8(entry.key()),
                       "' (known: location, offset, length, checksum)"));
    }
    if (!entries.emplace(entry.key(), entry.value()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("external data has the key '", entry.key(), "' twice"));
    }
  }
  ONWARD_RETURN_IF_ERROR(CheckLocation(entries["location"]));
  int64_t offset = 0;
  int64_t length = needed;
  if (entries.contains("offset")) {
    ONWARD_ASSIGN_OR_RETURN(offset, ParseSize("offset", entries["offset"]));
  }
  if (entries.contains("length")) {
    ONWARD_ASSIGN_OR_RETURN(length, ParseSize("length", entries["length"]));
  }
  if (length != needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data has ", length, " bytes, its shape needs ", needed));
  }
  if (files == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("external data '", entries["location"],
                                                   "' is refused: no directory is known for it"));
  }
  ExternalBytes found;
  ONWARD_ASSIGN_OR_RETURN(found.file, files->Open(entries["location"]));
  const std::string_view bytes = found.file->bytes();
  const std::optional<int64_t> end = CheckedAdd(offset, length);
  if (!end || *end > static_cast<int64_t>(bytes.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data at offset ", offset, " with ", length, " bytes lies outside '",
                     entries["location"], "' of ", bytes.size(), " bytes"));
  }
  found.bytes = bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(length));
  return found;
}

}  // namespace onward::onnx_io
