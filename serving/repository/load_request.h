// The parameters of a request to load a model: a configuration, and files that stand for those of
// its directory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onward::serving {

struct LoadRequest {
  std::optional<std::string> config = std::nullopt;  // JSON
  std::map<std::string, std::string> files = {};     // bytes by "VERSION/FILE"
};

// The body is empty or {"parameters": {"config": "...", "file:1/model.onnx": "base64"}}; other
// parameters are ignored. InvalidArgument: another body, files without a configuration, a path that
// is not VERSION/FILE.
absl::StatusOr<LoadRequest> ReadLoadRequest(std::string_view body);

// A directory that nobody else may enter, removed with everything in it at the end of its life.
class PrivateDirectory {
 public:
  static absl::StatusOr<std::unique_ptr<PrivateDirectory>> Create();
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  ~PrivateDirectory();

  const std::string& path() const { return path_; }
  // `name`: "VERSION/FILE", as ReadLoadRequest gives it.
  absl::Status Write(const std::string& name, std::string_view bytes) const;

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace onward::serving
