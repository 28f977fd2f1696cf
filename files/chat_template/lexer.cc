#include "files/chat_template/lexer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "files/chat_template/python_text.h"
#include "files/chat_template/string_literal.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::chat_template {
namespace {

using Kind = Token::Kind;

// As Python reads files: one kind of newline, and none at the end.
std::string WithPlainNewlines(std::string_view source) {
  std::string made;
  made.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      made += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      made += source[i];
    }
  }
  if (!made.empty() && made.back() == '\n') made.pop_back();
  return made;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  absl::StatusOr<std::vector<Token>> Run() {
    while (at_ < source_.size()) ONWARD_RETURN_IF_ERROR(TextAndTag());
    Add(Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::string_view Rest() const { return source_.substr(at_); }
  bool Sees(std::string_view text) const { return Rest().substr(0, text.size()) == text; }
  void Add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void Skip(size_t bytes) {
    line_ +=
        static_cast<int>(std::count(source_.begin() + at_, source_.begin() + at_ + bytes, '\n'));
    at_ += bytes;
  }
  void SkipSpaces() { Skip(LeadingSpaces(Rest())); }

  // The text up to a tag, which begins at `tag`, without what the tag takes off it.
  void AddText(size_t tag, bool variable) {
    std::string_view text = source_.substr(at_, tag - at_);
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    if (sign == '-') {
      text = WithoutTrailingSpaces(text);
    } else if (sign != '+' && !variable) {
      const size_t newline = text.rfind('\n');
      const size_t begin = newline == text.npos ? 0 : newline + 1;
      const bool whole_line = newline != text.npos || at_line_start_;
      if (whole_line && LeadingSpaces(text.substr(begin)) == text.size() - begin)
        text = text.substr(0, begin);
    }
    if (!text.empty()) Add(Kind::kData, std::string(text));
    Skip(tag - at_);
  }

  absl::Status TextAndTag() {
    size_t tag = source_.find('{', at_);
    while (tag != source_.npos &&
           (tag + 1 >= source_.size() ||
            std::string_view("{%#").find(source_[tag + 1]) == std::string_view::npos))
      tag = source_.find('{', tag + 1);
    if (tag == source_.npos) {
      if (at_ < source_.size()) Add(Kind::kData, std::string(Rest()));
      Skip(source_.size() - at_);
      return absl::OkStatus();
    }
    const char kind = source_[tag + 1];
    AddText(tag, kind == '{');
    const int line = line_;
    const size_t raw = kind == '%' ? RawTag(Rest(), "raw") : 0;
    if (raw > 0) return Raw(raw);
    Skip(2);
    if (kind == '#') return Comment(line);
    if (!Rest().empty() && (Rest()[0] == '-' || Rest()[0] == '+')) Skip(1);
    Add(kind == '{' ? Kind::kVariableBegin : Kind::kBlockBegin, "");
    return Inside(kind == '{', line);
  }

  absl::Status Comment(int line) {
    const size_t end = source_.find("#}", at_);
    if (end == source_.npos) return ErrorAt(line, "the comment is not closed by '#}'");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    Skip(end - at_);
    AfterBlock(sign);
    return absl::OkStatus();
  }

  // Skips the end of a tag, before which `sign` stands, with the space behind it that it takes.
  void AfterBlock(char sign) {
    Skip(2);
    const size_t begin = at_;
    if (sign == '-') {
      SkipSpaces();
    } else if (sign != '+' && Sees("\n")) {
      Skip(1);
    }
    at_line_start_ = at_ > begin && source_[at_ - 1] == '\n';
  }

  // The bytes of "{% raw %}" with the signs that it may have; 0: another tag.
  static size_t RawTag(std::string_view text, std::string_view name) {
    std::string_view rest = text.substr(2);
    if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
    rest.remove_prefix(LeadingSpaces(rest));
    if (rest.substr(0, name.size()) != name) return 0;
    rest.remove_prefix(name.size());
    rest.remove_prefix(LeadingSpaces(rest));
    const bool end = name == "endraw";
    if (!rest.empty() && (rest[0] == '-' || (end && rest[0] == '+'))) rest.remove_prefix(1);
    if (rest.substr(0, 2) != "%}") return 0;
    return text.size() - rest.size();
  }

  absl::Status Raw(size_t head) {
    const int line = line_;
    const bool strips = source_[at_ + head - 1] == '-';
    Skip(head + 2);
    const size_t begin = at_;
    if (strips) SkipSpaces();
    at_line_start_ = at_ > begin && source_[at_ - 1] == '\n';
    for (size_t tag = source_.find("{%", at_); tag != source_.npos;
         tag = source_.find("{%", tag + 1)) {
      const size_t tail = RawTag(source_.substr(tag), "endraw");
      if (tail == 0) continue;
      AddText(tag, /*variable=*/false);
      const char sign = source_[at_ + tail - 1];
      Skip(tail);
      AfterBlock(sign);
      return absl::OkStatus();
    }
    return ErrorAt(line, "'{% raw %}' is not closed by '{% endraw %}'");
  }

  // Reads the tokens between "{{" and "}}" or "{%" and "%}".
  absl::Status Inside(bool variable, int begun) {
    const char* const end = variable ? "}}" : "%}";
    brackets_.clear();
    while (at_ < source_.size()) {
      SkipSpaces();
      if (brackets_.empty()) {
        const bool sign = Sees("-") || (!variable && Sees("+"));
        if (Rest().substr(sign ? 1 : 0, 2) == end) {
          const char which = sign ? source_[at_] : '\0';
          Add(variable ? Kind::kVariableEnd : Kind::kBlockEnd, "");
          Skip(sign ? 1 : 0);
          // A variable does not take the newline behind it.
          AfterBlock(variable && which == '\0' ? '+' : which);
          return absl::OkStatus();
        }
      }
      if (at_ < source_.size()) ONWARD_RETURN_IF_ERROR(One());
    }
    return ErrorAt(begun,
                   absl::StrCat("'", variable ? "{{" : "{%", "' is not closed by '", end, "'"));
  }

  absl::Status One() {
    const char c = Rest()[0];
    if (absl::ascii_isdigit(c)) return Number();
    if (absl::ascii_isalpha(c) || c == '_') {
      const size_t bytes =
          std::find_if(Rest().begin(), Rest().end(),
                       [](char l) { return !absl::ascii_isalnum(l) && l != '_'; }) -
          Rest().begin();
      Add(Kind::kName, std::string(Rest().substr(0, bytes)));
      Skip(bytes);
      return absl::OkStatus();
    }
    if (c == '"' || c == '\'') {
      const size_t bytes = LiteralLength(Rest());
      if (bytes == 0) return ErrorAt(line_, "a string has no closing quote");
      auto text = ReadLiteral(Rest().substr(1, bytes - 2));
      if (!text.ok()) return ErrorAt(line_, std::string(text.status().message()));
      Add(Kind::kString, *std::move(text));
      Skip(bytes);
      return absl::OkStatus();
    }
    return Operator();
  }

  // Digits with single underscores between them; 0: none.
  size_t Digits(size_t at, bool (*is)(unsigned char) = absl::ascii_isdigit) const {
    size_t end = at;
    while (end < source_.size() &&
           (is(source_[end]) || (source_[end] == '_' && end > at && end + 1 < source_.size() &&
                                 is(source_[end + 1]) && source_[end - 1] != '_')))
      ++end;
    return end - at;
  }

  absl::Status Number() {
    size_t end = at_ + Digits(at_);
    const char prefix = at_ + 1 < source_.size() ? absl::ascii_tolower(source_[at_ + 1]) : '\0';
    if (source_[at_] == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b'))
      return ErrorAt(line_, "numbers of other bases than ten are not supported");
    bool whole = true;
    const bool member = at_ > 0 && source_[at_ - 1] == '.';
    if (!member && end < source_.size() && source_[end] == '.' && Digits(end + 1) > 0) {
      end += 1 + Digits(end + 1);
      whole = false;
    }
    if (!member && end < source_.size() && absl::ascii_tolower(source_[end]) == 'e') {
      size_t digits = end + 1;
      if (digits < source_.size() && (source_[digits] == '+' || source_[digits] == '-')) ++digits;
      if (Digits(digits) > 0) {
        end = digits + Digits(digits);
        whole = false;
      }
    }
    std::string text(source_.substr(at_, end - at_));
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    if (whole && text.size() > 1 && text[0] == '0' && text.find_first_not_of('0') != text.npos)
      return ErrorAt(line_, absl::StrCat("the number ", text, " begins with a zero"));
    Add(whole ? Kind::kInteger : Kind::kFloat, std::move(text));
    Skip(end - at_);
    return absl::OkStatus();
  }

  absl::Status Operator() {
    static constexpr std::string_view kLong[] = {"//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view kShort = "+-/*%~[](){}><=.:|,;";
    size_t bytes = kShort.find(Rest()[0]) == kShort.npos ? 0 : 1;
    for (const std::string_view op : kLong)
      if (Sees(op)) bytes = 2;
    if (bytes == 0)
      return ErrorAt(
          line_,
          absl::StrCat("unexpected '",
                       files::PrintableUtf8(Rest().substr(0, files::FrontOfUtf8(Rest()).bytes)),
                       "'"));
    const char c = Rest()[0];
    if (c == '(') brackets_ += ')';
    if (c == '[') brackets_ += ']';
    if (c == '{') brackets_ += '}';
    if (c == ')' || c == ']' || c == '}') {
      if (brackets_.empty())
        return ErrorAt(line_, absl::StrCat("unexpected '", std::string(1, c), "'"));
      if (brackets_.back() != c)
        return ErrorAt(line_, absl::StrCat("unexpected '", std::string(1, c), "', expected '",
                                           std::string(1, brackets_.back()), "'"));
      brackets_.pop_back();
    }
    Add(Kind::kOperator, std::string(Rest().substr(0, bytes)));
    Skip(bytes);
    return absl::OkStatus();
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool at_line_start_ = true;
  std::string brackets_;  // those that close what is open
  std::vector<Token> tokens_;
};

}  // namespace

absl::StatusOr<std::vector<Token>> Tokens(std::string_view source) {
  return Lexer(WithPlainNewlines(source)).Run();
}

absl::Status ErrorAt(int line, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", what));
}

}  // namespace onward::chat_template
