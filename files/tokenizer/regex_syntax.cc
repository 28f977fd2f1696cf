// From Oniguruma's syntax to PCRE2's.
#include <optional>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/regex.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

// Oniguruma counts six numbers of Latin-1 among words, such as the superscript two.
constexpr char kWord[] = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";
// Escapes that mean the same to both, besides escaped punctuation.
constexpr std::string_view kSame = "nrtfaepPAzZGKRXx0";

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  absl::StatusOr<std::string> Translate() {
    while (at_ < pattern_.size()) {
      ONWARD_RETURN_IF_ERROR(Element());
    }
    if (in_class_) return Unsupported("a class without end");
    return made_;
  }

 private:
  absl::Status Unsupported(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", files::PrintableUtf8(pattern_.substr(0, 80)), "': ", what, " is not supported"));
  }
  bool Next(std::string_view text) const { return pattern_.substr(at_, text.size()) == text; }

  absl::Status Element() {
    const char c = pattern_[at_];
    if (c == '\\') return Escape();
    if (in_class_) return InClass();
    if (c == '[') {
      in_class_ = true;
      made_ += c;
      ++at_;
      if (Next("^")) made_ += pattern_[at_++];
      // A bracket that comes first stands for itself in both, but Ruby warns of it.
      if (Next("]")) return Unsupported("']' at the beginning of a class");
      return absl::OkStatus();
    }
    if (Next("(?")) return Group();
    if (Next("(*")) return Unsupported("'(*'");
    if (Next("{,")) return Unsupported("'{,'");
    if (Next("}+")) return Unsupported("'}+'");
    made_ += c;
    ++at_;
    return absl::OkStatus();
  }

  // Groups, look-around, atomic groups and the option i. Ruby's (?m) is another's (?s).
  absl::Status Group() {
    for (const std::string_view same :
         {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:", "(?i)", "(?#"}) {
      if (!Next(same)) continue;
      made_ += same;
      at_ += same.size();
      return absl::OkStatus();
    }
    return Unsupported(absl::StrCat("'", files::PrintableUtf8(pattern_.substr(at_, 4)), "'"));
  }

  absl::Status InClass() {
    const char c = pattern_[at_];
    if (c == '[') return Unsupported("'[' in a class");
    if (Next("&&")) return Unsupported("'&&' in a class");
    if (c == ']') in_class_ = false;
    made_ += c;
    ++at_;
    return absl::OkStatus();
  }

  absl::Status Escape() {
    if (at_ + 1 >= pattern_.size()) return Unsupported("'\\' at the end");
    const char c = pattern_[at_ + 1];
    at_ += 2;
    if (static_cast<uint8_t>(c) >= 0x80 || std::ispunct(static_cast<uint8_t>(c)) != 0 || c == ' ') {
      made_ += {'\\', c};
      return absl::OkStatus();
    }
    if (const auto known = Translated(c)) {
      made_ += *known;
      return absl::OkStatus();
    }
    if (c == 'u') return CodePoint();
    const bool anchor = std::string_view("AzZGKRX").find(c) != std::string_view::npos;
    if (kSame.find(c) == std::string_view::npos || (in_class_ && anchor))
      return Unsupported(
          absl::StrCat("'\\", files::PrintableUtf8({&c, 1}), in_class_ ? "' in a class" : "'"));
    made_ += {'\\', c};
    // Braces that belong to the escape, as of \p{L}, are not an interval.
    if (std::string_view("pPx").find(c) == std::string_view::npos || !Next("{"))
      return absl::OkStatus();
    const size_t end = pattern_.find('}', at_);
    if (end == std::string_view::npos) return Unsupported("'{' without end");
    made_ += pattern_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    return absl::OkStatus();
  }

  // Shorthands, by what Oniguruma means; PCRE2's differ at the edges of Unicode.
  std::optional<std::string> Translated(char c) const {
    const std::string word = absl::StrCat("[", kWord, "]"), other = absl::StrCat("[^", kWord, "]");
    switch (c) {
      case 's':
        return "\\p{White_Space}";
      case 'S':
        return "\\P{White_Space}";
      case 'd':
        return "\\p{Nd}";
      case 'D':
        return "\\P{Nd}";
      case 'v':
        return "\\x0b";
      case 'w':
        return in_class_ ? kWord : word;
      case 'W':
        if (in_class_) return std::nullopt;
        return other;
      case 'b':
        if (in_class_) return std::nullopt;
        return absl::StrCat("(?:(?<=", word, ")(?!", word, ")|(?<!", word, ")(?=", word, "))");
      case 'B':
        if (in_class_) return std::nullopt;
        return absl::StrCat("(?:(?<=", word, ")(?=", word, ")|(?<!", word, ")(?!", word, "))");
      default:
        return std::nullopt;
    }
  }

  // \uHHHH.
  absl::Status CodePoint() {
    const std::string_view digits = pattern_.substr(at_, 4);
    for (const char c : digits)
      if (std::isxdigit(static_cast<uint8_t>(c)) == 0) return Unsupported("'\\u'");
    if (digits.size() < 4) return Unsupported("'\\u'");
    absl::StrAppend(&made_, "\\x{", std::string(digits), "}");
    at_ += 4;
    return absl::OkStatus();
  }

  std::string_view pattern_;
  size_t at_ = 0;
  bool in_class_ = false;
  std::string made_;
};

}  // namespace

absl::StatusOr<std::string> TranslatePattern(std::string_view pattern) {
  return Translator(pattern).Translate();
}

}  // namespace onward::tokenizer
