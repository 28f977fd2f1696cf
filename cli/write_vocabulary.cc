#include "cli/write_vocabulary.h"

#include <system_error>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/data/sources.h"

namespace onward::cli {
namespace {

absl::Status CopyIfThere(const std::filesystem::path& from, const std::filesystem::path& to) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(from, error) || fs::equivalent(from, to, error)) return absl::OkStatus();
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (!error) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot copy '", from.string(), "' to '", to.string(), "': ", error.message()));
}

// A tokenizer's files under the names that servers look for. `from`: the file, or its directory.
absl::Status CopyTokenizer(const std::filesystem::path& from, const std::filesystem::path& output) {
  std::error_code error;
  const bool is_file = !std::filesystem::is_directory(from, error);
  for (const std::filesystem::path name : {"tokenizer.json", "tokenizer.model"}) {
    if (is_file && from.extension() != name.extension()) continue;
    ONWARD_RETURN_IF_ERROR(CopyIfThere(is_file ? from : from / name, output / name));
  }
  const std::filesystem::path directory = is_file ? from.parent_path() : from;
  for (const char* name : {"tokenizer_config.json", "chat_template.jinja"})
    ONWARD_RETURN_IF_ERROR(CopyIfThere(directory / name, output / name));
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteVocabulary(const TrainConfig& config, const std::string& directory,
                             const std::filesystem::path& output) {
  const std::string tokenizer = training::TokenizerOf(config.data(), directory);
  if (!tokenizer.empty()) return CopyTokenizer(tokenizer, output);
  if (!training::HasVocabulary(config.data())) return absl::OkStatus();
  ONWARD_ASSIGN_OR_RETURN(const Vocabulary vocabulary,
                          training::VocabularyOf(config.data().text(), directory));
  return vocabulary.Write(output / "vocabulary.txt");
}

}  // namespace onward::cli
