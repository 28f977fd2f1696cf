#include "serving/repository/model_directory.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/http/framing.h"
#include "serving/repository/directory_names.h"

namespace onward::serving {
namespace {

namespace fs = std::filesystem;

constexpr char kDefaultFile[] = "model.onnx";

bool IsDirectory(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// "3"; not "03", which would be a second 3.
std::optional<int64_t> VersionNumber(const std::string& name) {
  int64_t version = 0;
  if (!absl::SimpleAtoi(name, &version) || version < 0 || absl::StrCat(version) != name)
    return std::nullopt;
  return version;
}

std::string NameOf(const fs::path& directory) {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(directory, ignored);
  return (whole.empty() ? directory : whole).filename().string();
}

std::map<int64_t, std::string> FilesByVersion(const ModelSource& source, const std::string& file) {
  std::map<int64_t, std::string> files;
  if (!IsDirectory(source.path)) return {{1, source.path}};
  const auto names = NamesIn(source.path);
  if (!names.ok()) return files;
  const fs::path directory(source.path);
  for (const std::string& name : *names) {
    const std::optional<int64_t> version = VersionNumber(name);
    if (version && IsFile(directory / name / file))
      files[*version] = (directory / name / file).string();
  }
  const fs::path alone = directory / file;
  if (files.empty() && IsFile(alone)) files[1] = alone.string();
  return files;
}

}  // namespace

bool IsModelDirectory(const std::string& path) {
  if (!IsDirectory(path)) return false;
  const fs::path directory(path);
  if (IsFile(directory / "config.pbtxt") || IsFile(directory / kDefaultFile)) return true;
  return !FilesByVersion({"", path}, kDefaultFile).empty();
}

bool HoldsModels(const std::string& path) { return IsDirectory(path) && !IsModelDirectory(path); }

absl::StatusOr<std::vector<ModelSource>> SourcesIn(const std::string& path, const LogSink& log) {
  if (!IsDirectory(path)) return std::vector<ModelSource>{{fs::path(path).stem().string(), path}};
  if (IsModelDirectory(path)) return std::vector<ModelSource>{{NameOf(path), path}};
  std::vector<ModelSource> sources;
  ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(path));
  for (const std::string& name : names) {
    const fs::path entry = fs::path(path) / name;
    if (IsModelDirectory(entry.string())) {
      sources.push_back({name, entry.string()});
    } else if (IsDirectory(entry)) {
      Warn(
          log, "serving",
          absl::StrCat("'", entry.string(), "' has no model (config.pbtxt, 1/", kDefaultFile, ")"));
    } else if (IsFile(entry) && entry.extension() == ".onnx") {
      sources.push_back({entry.stem().string(), entry.string()});
    }
  }
  if (!sources.empty()) return sources;
  return absl::NotFoundError(absl::StrCat("'", path, "' has no models: neither MODEL/1/",
                                          kDefaultFile, " nor .onnx files"));
}

absl::StatusOr<std::vector<ModelSource>> SourcesAt(const ModelSource& place, const LogSink& log) {
  ONWARD_ASSIGN_OR_RETURN(std::vector<ModelSource> sources, SourcesIn(place.path, log));
  const bool is_one = sources.size() == 1 && !HoldsModels(place.path);
  if (is_one && !place.name.empty()) sources.front().name = place.name;
  return sources;
}

absl::StatusOr<std::map<int64_t, std::string>> VersionsOf(const ModelSource& source,
                                                          const config::ModelConfig& config) {
  const std::string& named = config.default_model_filename();
  if (!named.empty() && !CanBeSegment(named))
    return absl::InvalidArgumentError(
        absl::StrCat("default_model_filename: '", named, "' is not the name of a file"));
  const std::string file = named.empty() ? kDefaultFile : named;
  std::map<int64_t, std::string> files = FilesByVersion(source, file);
  if (files.empty())
    return absl::NotFoundError(absl::StrCat("the model's directory has no VERSION/", file));
  const config::VersionPolicy& policy = config.version_policy();
  if (policy.has_all()) return files;
  if (!policy.has_specific()) {
    const size_t most = policy.has_latest() ? std::max(1U, policy.latest().num_versions()) : 1;
    while (files.size() > most) files.erase(files.begin());
    return files;
  }
  std::map<int64_t, std::string> chosen;
  for (const int64_t version : policy.specific().versions()) {
    const auto found = files.find(version);
    if (found == files.end())
      return absl::NotFoundError(
          absl::StrCat("version_policy: version ", version, " has no ", file));
    chosen.insert(*found);
  }
  if (!chosen.empty()) return chosen;
  return absl::InvalidArgumentError("version_policy: specific names no versions");
}

}  // namespace onward::serving
