#include "serving/repository/labels.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "onward/status.h"
#include "serving/http/framing.h"

namespace onward::serving {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostLabelBytes = 64 << 20;

// Whether `file` is below `directory` once links are followed.
bool LiesBelow(const fs::path& file, const fs::path& directory) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return false;
  const fs::path root = fs::canonical(directory, error);
  if (error) return false;
  const auto [end, ignored] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  return end == root.end();
}

absl::StatusOr<std::vector<std::string>> ReadFile(const std::string& directory,
                                                  const std::string& name) {
  const auto wrong = [&](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat("label_filename: '", name, "' ", why));
  };
  for (const auto part : absl::StrSplit(name, '/')) {
    if (part.empty() || !CanBeSegment({part.data(), part.size()}))
      return wrong("is not a file in the model's directory");
  }
  const fs::path path = fs::path(directory) / name;
  std::error_code error;
  const bool regular = fs::is_regular_file(path, error);
  if (error || !regular)
    return absl::NotFoundError(
        absl::StrCat("label_filename: the model's directory has no file '", name, "'"));
  if (!LiesBelow(path, directory)) return wrong("leads out of the model's directory");
  if (fs::file_size(path, error) > kMostLabelBytes || error)
    return wrong(absl::StrCat("has more than ", kMostLabelBytes, " bytes"));
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> labels = absl::StrSplit(text, '\n');
  for (std::string& label : labels)
    if (!label.empty() && label.back() == '\r') label.pop_back();
  if (labels.back().empty()) labels.pop_back();
  return labels;
}

}  // namespace

Labels LabelsInMetadata(const Metadata& metadata) {
  const auto note = metadata.find("onward.classes");
  if (note == metadata.end()) return {};
  const nlohmann::json document = nlohmann::json::parse(note->second, nullptr, false);
  if (!document.is_object()) return {};
  const auto output = document.find("output"), names = document.find("names");
  if (output == document.end() || names == document.end()) return {};
  if (!output->is_string() || !names->is_array()) return {};
  std::vector<std::string> labels;
  for (const nlohmann::json& name : *names) {
    if (!name.is_string()) return {};
    labels.push_back(name);
  }
  return {{output->get<std::string>(), std::move(labels)}};
}

absl::StatusOr<Labels> ReadLabels(const config::ModelConfig& config, const std::string& directory) {
  Labels labels;
  for (const config::Output& output : config.output()) {
    if (output.label_filename().empty()) continue;
    ONWARD_ASSIGN_OR_RETURN(labels[output.name()], ReadFile(directory, output.label_filename()));
  }
  return labels;
}

}  // namespace onward::serving
