// Which image files a data set has, of which classes, and where their bytes are.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/data_config.pb.h"

namespace onward::training {

// Immutable, so thread-safe.
class ImageFiles {
 public:
  // By folders or by a list, in directories or in an archive. InvalidArgument, NotFound; errors of
  // a list name the line.
  static absl::StatusOr<ImageFiles> Find(const ImageData& config, const std::string& directory);

  size_t size() const { return files_.size(); }
  const std::string& path(size_t index) const { return files_[index].path; }  // for messages
  int64_t label(size_t index) const { return files_[index].label; }
  // Names by label; none where a list has numbers.
  const std::vector<std::string>& classes() const { return classes_; }

  // A file's bytes and what keeps them. DataLoss: it is gone.
  struct Bytes {
    std::string_view bytes;
    std::shared_ptr<const void> owner;
  };
  absl::StatusOr<Bytes> Read(size_t index) const;

 private:
  struct File {
    std::string path;
    int64_t label = 0;
    size_t offset = 0, size = 0;  // in the archive
  };

  absl::Status FromFolders(const ImageData& config, const std::string& directory);
  absl::Status FromArchive(const ImageData& config);
  absl::Status FromList(const ImageData& config, const std::string& directory);

  std::vector<File> files_;
  std::vector<std::string> classes_;
  std::string archive_path_;
  Bytes archive_;
};

}  // namespace onward::training
