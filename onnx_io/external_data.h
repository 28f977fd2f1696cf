// Files beside a model that hold tensors. A model names them, so they are opened only beneath the
// model's own directory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/mapped_file.h"

namespace onnx {
class TensorProto;
}  // namespace onnx

namespace onward::onnx_io {

// The directories that a model's files may lie in, and the files opened so far. Not thread-safe.
class ExternalFiles {
 public:
  // `directory`: where the model's path says it lies. `real_directory`: where the file behind that
  // path lies when the path is a link (download caches keep a directory of links to blobs); empty
  // when it is the same.
  // With `to_read` the files can be read too (MappedFile::Read).
  ExternalFiles(std::string directory, std::string real_directory, bool to_read = false)
      : directory_(std::move(directory)),
        real_directory_(std::move(real_directory)),
        to_read_(to_read) {}

  // `location`: relative, without "..", NUL or invalid UTF-8. The file must be regular and lie
  // beneath one of the two directories, links followed: InvalidArgument, NotFound.
  absl::StatusOr<std::shared_ptr<files::MappedFile>> Open(const std::string& location);

 private:
  std::string directory_;
  std::string real_directory_;
  bool to_read_;
  std::map<std::string, std::shared_ptr<files::MappedFile>> open_;
};

// A tensor's bytes in an external file.
struct ExternalBytes {
  std::string_view bytes;
  std::shared_ptr<files::MappedFile> file;
};

// Reads the external_data entries (keys location, offset, length, checksum) and checks that the
// `needed` bytes lie within the file. A null `files` refuses.
absl::StatusOr<ExternalBytes> FindExternalBytes(const onnx::TensorProto& proto, int64_t needed,
                                                ExternalFiles* files);

}  // namespace onward::onnx_io
