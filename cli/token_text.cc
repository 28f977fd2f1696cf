#include "cli/token_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/status.h"
#include "training/data/model_notes.h"

namespace onward::cli {

absl::StatusOr<TokenText> TokenText::Create(const std::string& file, const Metadata& metadata) {
  TokenText made;
  const auto noted = metadata.find(training::kVocabularyNote);
  if (file.empty() && noted != metadata.end() && noted->second != "bytes") {
    absl::StatusOr<Vocabulary> read = Vocabulary::Parse(noted->second);
    if (!read.ok())
      return Annotate(read.status(),
                      absl::StrCat("the model's '", training::kVocabularyNote, "':"));
    made.vocabulary_ = std::make_shared<Vocabulary>(*std::move(read));
  } else if (file == "bytes" || (file.empty() && noted != metadata.end())) {
    made.vocabulary_ = std::make_shared<Vocabulary>(Vocabulary::Bytes());
  } else if (!file.empty() && files::Tokenizer::IsTokenizer(file)) {
    ONWARD_ASSIGN_OR_RETURN(files::Tokenizer read, files::Tokenizer::Read(file));
    made.stream_.emplace(read, /*skip_special=*/true);
    made.tokenizer_.emplace(std::move(read));
  } else if (!file.empty()) {
    ONWARD_ASSIGN_OR_RETURN(Vocabulary read, Vocabulary::Read(file));
    made.vocabulary_ = std::make_shared<Vocabulary>(std::move(read));
  }
  return made;
}

absl::StatusOr<std::vector<int64_t>> TokenText::Encode(const std::string& text) const {
  if (tokenizer_.has_value()) return tokenizer_->Encode(text, /*add_special=*/true);
  return vocabulary_->Encode(text);
}

absl::StatusOr<std::string> TokenText::Text(const std::vector<int64_t>& tokens) const {
  if (tokenizer_.has_value()) return tokenizer_->Decode(tokens, /*skip_special=*/true);
  if (vocabulary_ != nullptr) return vocabulary_->Decode(tokens);
  return absl::StrJoin(tokens, ",");
}

std::optional<int64_t> TokenText::end_token() const {
  return tokenizer_.has_value() ? tokenizer_->eos() : std::nullopt;
}

absl::StatusOr<std::string> TokenText::Next(int64_t token) {
  if (stream_.has_value()) return stream_->Push(token);
  if (vocabulary_ != nullptr) return vocabulary_->Decode({token});
  return absl::StrCat(streamed_++ > 0 ? "," : "", token);
}

absl::StatusOr<std::string> TokenText::Finish() {
  return stream_.has_value() ? stream_->Finish() : std::string();
}

}  // namespace onward::cli
