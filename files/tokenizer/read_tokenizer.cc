// From the files of a tokenizer to its parts.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "files/tokenizer/json_field.h"
#include "files/tokenizer/tokenizer_parts.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using tokenizer::JsonField;

constexpr int kDeepest = 64;
constexpr char kFile[] = "tokenizer.json", kConfig[] = "tokenizer_config.json";

// Lists and objects inside each other, quotes aside.
int Depth(std::string_view json) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

absl::StatusOr<nlohmann::json> ParseJson(std::string_view bytes) {
  if (Depth(bytes) > kDeepest)
    return absl::InvalidArgumentError(absl::StrCat("is nested more than ", kDeepest, " times"));
  try {
    return nlohmann::json::parse(bytes);
  } catch (const nlohmann::json::exception& e) {
    return absl::InvalidArgumentError(
        absl::StrCat("is not JSON: ", PrintableUtf8(std::string(e.what()))));
  }
}

// The id of a token of the configuration, which is its text or an object that has it.
absl::StatusOr<std::optional<int64_t>> NamedToken(const JsonField& config, const char* name,
                                                  const Tokenizer& made) {
  if (!config.Has(name)) return std::nullopt;
  ONWARD_ASSIGN_OR_RETURN(const JsonField token, config.At(name));
  ONWARD_ASSIGN_OR_RETURN(const std::string text,
                          token.value().is_object() ? token.String("content") : token.String());
  const std::optional<int64_t> id = made.IdOf(text);
  if (!id.has_value())
    return token.Error(absl::StrCat("'", PrintableUtf8(text), "' is not a token"));
  return id;
}

absl::Status ReadParts(const JsonField& file, Tokenizer::Parts& parts) {
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
  ONWARD_ASSIGN_OR_RETURN(const nlohmann::json file, ParseJson(json));
  auto parts = std::make_shared<Parts>();
  ONWARD_RETURN_IF_ERROR(ReadParts(JsonField(file, ""), *parts));
  const Tokenizer made(parts);
  if (config.empty()) return made;
  const absl::StatusOr<nlohmann::json> said = ParseJson(config);
  if (!said.ok()) return Annotate(said.status(), absl::StrCat(kConfig, ":"));
  const JsonField field(*said, kConfig);
  ONWARD_ASSIGN_OR_RETURN(parts->bos, NamedToken(field, "bos_token", made));
  ONWARD_ASSIGN_OR_RETURN(parts->eos, NamedToken(field, "eos_token", made));
  return made;
}

absl::StatusOr<Tokenizer> Tokenizer::Read(const std::string& path) {
  std::error_code ignored;
  const bool directory = fs::is_directory(path, ignored);
  const fs::path file = directory ? fs::path(path) / kFile : fs::path(path);
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<MappedFile> json, MappedFile::Open(file.string()));
  const fs::path beside = file.parent_path() / kConfig;
  std::shared_ptr<MappedFile> config;
  if (fs::exists(beside, ignored)) {
    ONWARD_ASSIGN_OR_RETURN(config, MappedFile::Open(beside.string()));
  }
  absl::StatusOr<Tokenizer> made =
      Parse(json->bytes(), config == nullptr ? std::string_view() : config->bytes());
  if (!made.ok()) return Annotate(made.status(), absl::StrCat("'", file.string(), "':"));
  return made;
}

bool Tokenizer::IsTokenizer(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return true;
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

}  // namespace onward
