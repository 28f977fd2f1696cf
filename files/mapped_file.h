// A regular file in memory. Pages come from the page cache when they are touched.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onward::files {

class MappedFile {
 public:
  enum class Writes {
    kNone,
    kPrivate,  // memory may be written, the file does not change
  };
  // NotFound, PermissionDenied, or InvalidArgument when it is not a regular file.
  static absl::StatusOr<std::shared_ptr<MappedFile>> Open(const std::string& path,
                                                          Writes writes = Writes::kNone);
  // Maps what an open descriptor refers to and closes it in any case; `path` is for messages.
  static absl::StatusOr<std::shared_ptr<MappedFile>> FromDescriptor(int descriptor,
                                                                    const std::string& path,
                                                                    Writes writes = Writes::kNone);
  // The same, and keeps a descriptor of the file for Read.
  static absl::StatusOr<std::shared_ptr<MappedFile>> OpenToRead(const std::string& path);
  static absl::StatusOr<std::shared_ptr<MappedFile>> FromDescriptorToRead(int descriptor,
                                                                          const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  // Copies `count` bytes at `offset` from the file. Memory that is mapped cannot be touched where
  // the file has been cut off since; this gives DataLoss then.
  absl::Status Read(size_t offset, size_t count, char* to) const;

 private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}

  void* data_;
  size_t size_;
  int descriptor_ = -1;  // of those that are opened to read
};

// Gives whole pages inside `range`, which lies in a mapping, back to the page cache: for bytes that
// were copied out. They can be read again.
void ReleasePages(std::string_view range);

}  // namespace onward::files
