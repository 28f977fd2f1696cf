#include "files/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/tokenizer/tokenizer_parts.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::files {
namespace {

using tokenizer::AddedTokens;

// The largest growth of text: compatibility forms grow eleven times, byte letters double.
size_t Most(size_t bytes) { return (size_t{4} << 20) + 32 * bytes; }

}  // namespace

absl::Status TokenizerParts::EncodeSpan(std::string_view text, bool first, size_t most,
                                        std::vector<int64_t>& ids) const {
  std::vector<tokenizer::Piece> pieces;
  tokenizer::Piece whole = {std::string(text), first};
  if (pre_tokenizer != nullptr) {
    ONWARD_RETURN_IF_ERROR(pre_tokenizer->Cut(std::move(whole), most, pieces));
  } else {
    pieces.push_back(std::move(whole));
  }
  for (const tokenizer::Piece& piece : pieces)
    ONWARD_RETURN_IF_ERROR(model->Encode(piece.text, ids));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> Tokenizer::EncodeBare(std::string_view text) const {
  if (!IsUtf8(text)) return absl::InvalidArgumentError("the text is not UTF-8");
  const size_t most = Most(text.size());
  std::vector<int64_t> ids;
  for (const AddedTokens::Span& span : parts_->added.FindInText(text)) {
    if (span.id >= 0) {
      ids.push_back(span.id);
      continue;
    }
    std::string normalized(span.text);
    if (parts_->normalizer != nullptr) {
      ONWARD_ASSIGN_OR_RETURN(normalized, parts_->normalizer->Apply(std::move(normalized), most));
    }
    for (const AddedTokens::Span& inner : parts_->added.FindInNormalized(normalized)) {
      if (inner.id >= 0) {
        ids.push_back(inner.id);
        continue;
      }
      const bool first = span.text.data() == text.data() && inner.text.data() == normalized.data();
      ONWARD_RETURN_IF_ERROR(parts_->EncodeSpan(inner.text, first, most, ids));
    }
  }
  return ids;
}

absl::StatusOr<std::vector<int64_t>> Tokenizer::Encode(std::string_view text,
                                                       bool add_special) const {
  ONWARD_ASSIGN_OR_RETURN(std::vector<int64_t> ids, EncodeBare(text));
  return parts_->post_processor.Apply(std::move(ids), add_special).ids;
}

absl::StatusOr<std::string> Tokenizer::Decode(absl::Span<const int64_t> ids,
                                              bool skip_special) const {
  return Decode(ids, skip_special, /*raw=*/false);
}

absl::StatusOr<std::string> Tokenizer::Decode(absl::Span<const int64_t> ids, bool skip_special,
                                              bool raw) const {
  tokenizer::Texts texts;
  size_t bytes = 0;
  for (const int64_t id : ids) {
    if (skip_special && parts_->added.IsSpecial(id)) continue;
    const std::string* text = parts_->Text(id);
    if (text == nullptr) continue;
    texts.push_back(*text);
    bytes += text->size();
  }
  if (parts_->decoder == nullptr) return absl::StrJoin(texts, " ");
  ONWARD_RETURN_IF_ERROR(parts_->decoder->Apply(texts, {raw, Most(bytes)}));
  return absl::StrJoin(texts, "");
}

std::optional<int64_t> Tokenizer::IdOf(std::string_view token) const {
  const std::optional<int64_t> added = parts_->added.Find(token);
  return added.has_value() ? added : parts_->model->tokens().Find(token);
}

std::optional<std::string> Tokenizer::TokenOf(int64_t id) const {
  const std::string* text = parts_->Text(id);
  if (text == nullptr) return std::nullopt;
  return *text;
}

int64_t Tokenizer::size() const {
  return std::max(parts_->model->tokens().end(), parts_->added.end());
}

std::optional<int64_t> Tokenizer::bos() const { return parts_->bos; }
std::optional<int64_t> Tokenizer::eos() const { return parts_->eos; }
std::optional<int64_t> Tokenizer::pad() const { return parts_->pad; }

}  // namespace onward::files
