// From the files of a tokenizer to its parts.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "files/tokenizer/read_json.h"
#include "files/tokenizer/tokenizer.h"
#include "files/tokenizer/tokenizer_parts.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::files {
namespace {

namespace fs = std::filesystem;
using tokenizer::JsonField;

constexpr char kFile[] = "tokenizer.json", kSentencePieceFile[] = "tokenizer.model";

absl::Status ReadParts(const JsonField& file, TokenizerParts& parts) {
  ONWARD_RETURN_IF_ERROR(
      file.Only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                 "post_processor", "decoder", "model"}));
  ONWARD_ASSIGN_OR_RETURN(const std::string version, file.String("version", "1.0"));
  if (version != "1.0")
    return file.Error(absl::StrCat("version: '", PrintableUtf8(version), "' is not supported"));
  if (file.Has("normalizer")) {
    ONWARD_ASSIGN_OR_RETURN(const JsonField field, file.At("normalizer"));
    ONWARD_ASSIGN_OR_RETURN(parts.normalizer, tokenizer::ReadNormalizer(field));
  }
  if (file.Has("pre_tokenizer")) {
    ONWARD_ASSIGN_OR_RETURN(const JsonField field, file.At("pre_tokenizer"));
    ONWARD_ASSIGN_OR_RETURN(parts.pre_tokenizer, tokenizer::ReadPreTokenizer(field));
  }
  if (file.Has("post_processor")) {
    ONWARD_ASSIGN_OR_RETURN(const JsonField field, file.At("post_processor"));
    ONWARD_ASSIGN_OR_RETURN(parts.post_processor, tokenizer::PostProcessor::Read(field));
  }
  if (file.Has("decoder")) {
    ONWARD_ASSIGN_OR_RETURN(const JsonField field, file.At("decoder"));
    ONWARD_ASSIGN_OR_RETURN(parts.decoder, tokenizer::ReadDecoder(field));
  }
  ONWARD_ASSIGN_OR_RETURN(const JsonField model, file.At("model"));
  ONWARD_ASSIGN_OR_RETURN(parts.model, tokenizer::ReadModel(model));
  if (!file.Has("added_tokens")) return absl::OkStatus();
  ONWARD_ASSIGN_OR_RETURN(const JsonField added, file.At("added_tokens"));
  ONWARD_ASSIGN_OR_RETURN(parts.added, tokenizer::AddedTokens::Read(added, parts.model->tokens(),
                                                                    parts.normalizer.get()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tokenizer> Tokenizer::Parse(std::string_view json, std::string_view config) {
  ONWARD_ASSIGN_OR_RETURN(const nlohmann::json file, tokenizer::ReadJson(json));
  auto parts = std::make_shared<TokenizerParts>();
  ONWARD_RETURN_IF_ERROR(ReadParts(JsonField(file, ""), *parts));
  const Tokenizer made(parts);
  ONWARD_ASSIGN_OR_RETURN(const nlohmann::json said, tokenizer::ReadConfig(config));
  const JsonField field(said, tokenizer::kConfigFile);
  ONWARD_ASSIGN_OR_RETURN(parts->bos, tokenizer::NamedToken(field, "bos_token", made));
  ONWARD_ASSIGN_OR_RETURN(parts->eos, tokenizer::NamedToken(field, "eos_token", made));
  // Published configurations name tokens here that no file defines.
  const auto pad = tokenizer::NamedToken(field, "pad_token", made);
  if (pad.ok()) parts->pad = *pad;
  return made;
}

absl::StatusOr<Tokenizer> Tokenizer::Read(const std::string& path) {
  std::error_code ignored;
  fs::path file = path;
  if (fs::is_directory(path, ignored)) {
    file /= kFile;
    if (!fs::exists(file, ignored) && fs::exists(fs::path(path) / kSentencePieceFile, ignored))
      file = fs::path(path) / kSentencePieceFile;
  }
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<MappedFile> bytes, MappedFile::Open(file.string()));
  const fs::path beside = file.parent_path() / tokenizer::kConfigFile;
  std::shared_ptr<MappedFile> config;
  if (fs::exists(beside, ignored)) {
    ONWARD_ASSIGN_OR_RETURN(config, MappedFile::Open(beside.string()));
  }
  const std::string_view said = config == nullptr ? std::string_view() : config->bytes();
  absl::StatusOr<Tokenizer> made = file.extension() == ".model"
                                       ? ParseSentencePiece(bytes->bytes(), said)
                                       : Parse(bytes->bytes(), said);
  if (!made.ok()) return Annotate(made.status(), absl::StrCat("'", file.string(), "':"));
  return made;
}

bool Tokenizer::IsInDirectory(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::path(path) / kFile, ignored) ||
         fs::exists(fs::path(path) / kSentencePieceFile, ignored);
}

bool Tokenizer::IsTokenizer(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored) || fs::path(path).extension() == ".model") return true;
  const auto file = MappedFile::Open(path);
  if (!file.ok()) return false;
  constexpr std::string_view model = "\"model\"", spaces = " \t\r\n";
  const std::string_view bytes = (*file)->bytes();
  const size_t begin = bytes.find_first_not_of(spaces);
  if (begin == bytes.npos || bytes[begin] != '{') return false;
  // A vocabulary may have a token of that name, but its value is a number.
  for (size_t at = bytes.find(model); at != bytes.npos; at = bytes.find(model, at + 1)) {
    const size_t colon = bytes.find_first_not_of(spaces, at + model.size());
    if (colon == bytes.npos || bytes[colon] != ':') continue;
    const size_t value = bytes.find_first_not_of(spaces, colon + 1);
    if (value != bytes.npos && bytes[value] == '{') return true;
  }
  return false;
}

}  // namespace onward::files
