#include "files/tokenizer/model.h"

#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {

absl::StatusOr<int64_t> Model::Unknown(const std::optional<std::string>& token,
                                       std::string_view piece) const {
  const std::string what = absl::StrCat("the vocabulary does not have '",
                                        files::PrintableUtf8(piece.substr(0, 40)), "'");
  if (!token.has_value()) return absl::InvalidArgumentError(what + ", and there is no unk_token");
  const std::optional<int64_t> id = tokens_.Find(*token);
  if (!id.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ", and not the unk_token '", files::PrintableUtf8(*token), "' either"));
  }
  return *id;
}

absl::StatusOr<std::optional<std::string>> ReadUnknownToken(const JsonField& model) {
  if (!model.Has("unk_token")) return std::nullopt;
  ONWARD_ASSIGN_OR_RETURN(std::string token, model.String("unk_token"));
  return token;
}

absl::StatusOr<std::shared_ptr<const Model>> ReadModel(const JsonField& model) {
  const char* guess = model.Has("merges")                     ? "BPE"
                      : model.Has("max_input_chars_per_word") ? "WordPiece"
                      : model.Has("unk_id")                   ? "Unigram"
                                                              : "WordLevel";
  ONWARD_ASSIGN_OR_RETURN(const std::string type, model.String("type", guess));
  if (type == "BPE") return ReadBpe(model);
  if (type == "WordPiece") return ReadWordPiece(model);
  if (type == "WordLevel") return ReadWordLevel(model);
  if (type == "Unigram") return ReadUnigram(model);
  return absl::InvalidArgumentError(
      absl::StrCat("model.type: '", files::PrintableUtf8(type), "' is not supported"));
}

}  // namespace onward::tokenizer
