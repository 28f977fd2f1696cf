#include "files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace onward::files {

absl::StatusOr<std::shared_ptr<MappedFile>> MappedFile::Open(const std::string& path,
                                                             Writes writes) {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open '", path, "'"));
  }
  return FromDescriptor(descriptor, path, writes);
}

absl::StatusOr<std::shared_ptr<MappedFile>> MappedFile::FromDescriptor(int descriptor,
                                                                       const std::string& path,
                                                                       Writes writes) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    const int error = errno;
    close(descriptor);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot read '", path, "'"));
  }
  if (!S_ISREG(status.st_mode)) {
    close(descriptor);
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a regular file"));
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* data = nullptr;
  int error = 0;
  if (size > 0) {
    const bool writable = writes == Writes::kPrivate;
    data = mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                writable ? MAP_PRIVATE | MAP_NORESERVE : MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) error = errno;
  }
  close(descriptor);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot map '", path, "'"));
  return std::shared_ptr<MappedFile>(new MappedFile(data, size));
}

absl::StatusOr<std::shared_ptr<MappedFile>> MappedFile::OpenToRead(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open '", path, "'"));
  return FromDescriptorToRead(descriptor, path);
}

absl::StatusOr<std::shared_ptr<MappedFile>> MappedFile::FromDescriptorToRead(
    int descriptor, const std::string& path) {
  const int kept = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  const int error = errno;
  absl::StatusOr<std::shared_ptr<MappedFile>> file = FromDescriptor(descriptor, path);
  if (file.ok() && kept < 0)
    return absl::ErrnoToStatus(error, absl::StrCat("cannot open '", path, "'"));
  if (file.ok()) {
    (*file)->descriptor_ = kept;
  } else if (kept >= 0) {
    close(kept);
  }
  return file;
}

absl::Status MappedFile::Read(size_t offset, size_t count, char* to) const {
  while (count > 0) {
    const ssize_t got = pread(descriptor_, to, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot read the file");
    if (got == 0) return absl::DataLossError("the file was cut off while it was read");
    const auto bytes = static_cast<size_t>(got);
    offset += bytes;
    to += bytes;
    count -= bytes;
  }
  return absl::OkStatus();
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
  if (descriptor_ >= 0) close(descriptor_);
}

void ReleasePages(std::string_view range) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(range.data());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + range.size()) / page * page;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace onward::files
