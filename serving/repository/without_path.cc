#include "serving/repository/without_path.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_replace.h"

namespace onward::serving {

namespace fs = std::filesystem;

absl::Status WithoutPath(const absl::Status& status, const std::string& path) {
  if (status.ok() || path.empty()) return status;
  std::error_code ignored;
  const fs::path given(path), real = fs::weakly_canonical(given, ignored);
  std::string message(status.message());
  for (const fs::path& each : {real, given}) {
    const bool is_file = each.has_extension() && !fs::is_directory(each, ignored);
    const std::string directory = (is_file ? each.parent_path() : each).string();
    // A relative path such as "." has nothing to hide, and is part of any text.
    if (directory.size() < 2 || directory.front() != '/') continue;
    message = absl::StrReplaceAll(message, {{directory + "/", ""}, {directory, "MODEL"}});
  }
  return absl::Status(status.code(), message);
}

}  // namespace onward::serving
