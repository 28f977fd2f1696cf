#include "files/tokenizer/read_json.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "files/json_depth.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

constexpr int kDeepest = 64;

}  // namespace

absl::StatusOr<nlohmann::json> ReadJson(std::string_view bytes) {
  if (files::JsonDepth(bytes) > kDeepest)
    return absl::InvalidArgumentError(absl::StrCat("is nested more than ", kDeepest, " times"));
  try {
    return nlohmann::json::parse(bytes);
  } catch (const nlohmann::json::exception& e) {
    return absl::InvalidArgumentError(
        absl::StrCat("is not JSON: ", files::PrintableUtf8(std::string(e.what()))));
  }
}

absl::StatusOr<nlohmann::json> ReadConfig(std::string_view bytes) {
  if (bytes.empty()) return nlohmann::json::object();
  absl::StatusOr<nlohmann::json> said = ReadJson(bytes);
  if (!said.ok()) return Annotate(said.status(), absl::StrCat(kConfigFile, ":"));
  return said;
}

absl::StatusOr<std::optional<int64_t>> NamedToken(const JsonField& config, const char* name,
                                                  const files::Tokenizer& made) {
  if (!config.Has(name)) return std::nullopt;
  ONWARD_ASSIGN_OR_RETURN(const JsonField token, config.At(name));
  ONWARD_ASSIGN_OR_RETURN(const std::string text,
                          token.value().is_object() ? token.String("content") : token.String());
  const std::optional<int64_t> id = made.IdOf(text);
  if (!id.has_value())
    return token.Error(absl::StrCat("'", files::PrintableUtf8(text), "' is not a token"));
  return id;
}

}  // namespace onward::tokenizer
