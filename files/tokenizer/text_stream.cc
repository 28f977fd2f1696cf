#include <algorithm>

#include "files/tokenizer/tokenizer.h"
#include "files/tokenizer/tokenizer_parts.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::files {
namespace {

// The bytes before a character that only the end cuts off.
size_t WholeCharacters(std::string_view text) {
  const size_t last = text.size() > 3 ? text.size() - 3 : 0;
  for (size_t at = last; at < text.size(); ++at) {
    const Utf8Front front = FrontOfUtf8(text.substr(at));
    if (front.open && at + front.bytes == text.size()) return at;
  }
  return text.size();
}

}  // namespace

absl::StatusOr<std::string> TextStream::Raw() const {
  return tokenizer_.Decode(ids_, skip_special_, /*raw=*/true);
}

bool TextStream::IsPassedOver(int64_t id) const {
  const TokenizerParts& parts = *tokenizer_.parts_;
  return parts.Text(id) == nullptr || (skip_special_ && parts.added.IsSpecial(id));
}

absl::StatusOr<std::string> TextStream::Push(int64_t id) {
  if (IsPassedOver(id)) return std::string();
  ids_.push_back(id);
  ONWARD_ASSIGN_OR_RETURN(const std::string text, Raw());
  const size_t whole = WholeCharacters(text);
  std::string made;
  if (whole > sent_) made = ReplaceMalformed(std::string_view(text).substr(sent_, whole - sent_));
  if (whole < text.size()) {
    sent_ = std::max(sent_, whole);
    return made;
  }
  ids_ = {id};
  ONWARD_ASSIGN_OR_RETURN(const std::string last, Raw());
  sent_ = last.size();
  return made;
}

absl::StatusOr<std::string> TextStream::Finish() {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, Raw());
  std::string made;
  if (text.size() > sent_) made = ReplaceMalformed(std::string_view(text).substr(sent_));
  ids_.clear();
  sent_ = 0;
  return made;
}

}  // namespace onward::files
