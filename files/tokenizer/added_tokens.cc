#include "files/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/characters.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

bool WordBefore(std::string_view text, size_t at) {
  if (at == 0) return false;
  std::string_view last = text.substr(LastCharacter(text, at));
  return IsWord(TakeCharacter(last));
}

bool WordAt(std::string_view text, size_t at) {
  std::string_view rest = text.substr(at);
  return !rest.empty() && IsWord(TakeCharacter(rest));
}

size_t SkipSpacesBack(std::string_view text, size_t at, size_t least) {
  while (at > least) {
    const size_t begin = LastCharacter(text, at);
    std::string_view last = text.substr(begin);
    if (!IsWhitespace(TakeCharacter(last))) break;
    at = begin;
  }
  return at;
}

size_t SkipSpaces(std::string_view text, size_t at) {
  for (std::string_view rest = text.substr(at); !rest.empty(); at = text.size() - rest.size())
    if (!IsWhitespace(TakeCharacter(rest))) break;
  return at;
}

}  // namespace

absl::StatusOr<AddedTokens> AddedTokens::Read(const JsonField& list, const TokenTable& model,
                                              const Normalizer* normalizer) {
  AddedTokens made;
  if (list.is_null()) return made;
  ONWARD_ASSIGN_OR_RETURN(const std::vector<JsonField> items, list.Items());
  for (const JsonField& item : items) {
    constexpr size_t most = 65536;
    ONWARD_RETURN_IF_ERROR(
        item.Only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    Token token;
    ONWARD_ASSIGN_OR_RETURN(token.id, item.Integer("id"));
    ONWARD_ASSIGN_OR_RETURN(std::string content, item.String("content"));
    ONWARD_ASSIGN_OR_RETURN(token.special, item.Bool("special", false));
    ONWARD_ASSIGN_OR_RETURN(token.single_word, item.Bool("single_word", false));
    ONWARD_ASSIGN_OR_RETURN(token.lstrip, item.Bool("lstrip", false));
    ONWARD_ASSIGN_OR_RETURN(token.rstrip, item.Bool("rstrip", false));
    ONWARD_ASSIGN_OR_RETURN(token.normalized, item.Bool("normalized", !token.special));
    if (content.empty()) continue;
    const std::optional<int64_t> known = model.Find(content);
    if (known.has_value() && *known != token.id) {
      return item.Error(absl::StrCat("'", files::PrintableUtf8(content), "' has the id ", token.id,
                                     ", and in the model ", *known));
    }
    std::string key = content;
    if (token.normalized && normalizer != nullptr) {
      ONWARD_ASSIGN_OR_RETURN(key, normalizer->Apply(std::move(key), most));
    }
    (token.normalized ? made.in_normalized_ : made.in_text_)
        .Add(key, static_cast<int64_t>(made.tokens_.size()));
    if (token.special) made.special_[token.id] = true;
    made.texts_.Add(std::move(content), token.id);
    made.tokens_.push_back(token);
  }
  return made;
}

bool AddedTokens::IsSpecial(int64_t id) const { return special_.contains(id); }

std::vector<AddedTokens::Span> AddedTokens::Find(std::string_view text,
                                                 const PrefixTree& tree) const {
  std::vector<Span> spans;
  size_t covered = 0;
  for (size_t at = 0; at < text.size();) {
    const PrefixTree::Match match = tree.Longest(text.substr(at));
    if (match.bytes == 0) {
      ++at;
      continue;
    }
    const Token& token = tokens_[static_cast<size_t>(match.value)];
    size_t begin = at, end = at + match.bytes;
    at = end;
    if (token.single_word && (WordBefore(text, begin) || WordAt(text, end))) continue;
    if (token.lstrip) begin = SkipSpacesBack(text, begin, std::min(covered, begin));
    if (token.rstrip) end = SkipSpaces(text, end);
    if (begin > covered) spans.push_back({text.substr(covered, begin - covered), -1});
    spans.push_back({text.substr(begin, end - begin), token.id});
    covered = std::max(covered, end);
  }
  if (covered < text.size()) spans.push_back({text.substr(covered), -1});
  return spans;
}

}  // namespace onward::tokenizer
