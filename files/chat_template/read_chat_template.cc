// The chat template that lies beside a tokenizer.
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/chat_template/chat_template.h"
#include "files/mapped_file.h"
#include "onward/status.h"

namespace onward::files {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMostBytes = size_t{64} << 20;  // of a file of settings

absl::StatusOr<std::optional<std::string>> TextOf(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<MappedFile> file, MappedFile::Open(path.string()));
  if (file->bytes().size() > kMostBytes)
    return absl::InvalidArgumentError(absl::StrCat("'", path.string(), "' is too large"));
  return std::string(file->bytes());
}

// A string, or the one called "default" of several.
std::optional<std::string> TemplateIn(const json& config) {
  const auto found = config.is_object() ? config.find("chat_template") : config.end();
  if (found == config.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) return std::nullopt;
  for (const json& each : *found)
    if (each.is_object() && each.value("name", json()) == "default" &&
        each.value("template", json()).is_string())
      return each["template"].get<std::string>();
  return std::nullopt;
}

}  // namespace

absl::StatusOr<ChatTemplate> ChatTemplate::Read(const std::string& directory) {
  ONWARD_ASSIGN_OR_RETURN(std::optional<std::string> text,
                          TextOf(fs::path(directory) / "chat_template.jinja"));
  if (!text) {
    ONWARD_ASSIGN_OR_RETURN(const std::optional<std::string> config,
                            TextOf(fs::path(directory) / "tokenizer_config.json"));
    if (config) text = TemplateIn(json::parse(*config, nullptr, /*allow_exceptions=*/false));
  }
  if (!text) return absl::NotFoundError(absl::StrCat("'", directory, "' has no chat template"));
  return Parse(*text);
}

}  // namespace onward::files
