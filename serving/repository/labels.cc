#include "serving/repository/labels.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "onward/status.h"
#include "serving/repository/model_file.h"

namespace onward::serving {
namespace {

absl::StatusOr<std::vector<std::string>> ReadFile(const std::string& directory,
                                                  const std::string& name) {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ReadModelFile(directory, name, "label_filename"));
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
