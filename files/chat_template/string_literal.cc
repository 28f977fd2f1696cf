#include "files/chat_template/string_literal.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "files/chat_template/python_text.h"
#include "onward/status.h"

namespace onward::chat_template {

size_t LiteralLength(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == text[0]) return i + 1;
    if (text[i] == '\\') ++i;
  }
  return 0;
}

namespace {

int HexDigit(char c) {
  return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
}

// A character by `digits` hexadecimal digits.
absl::Status AppendHex(std::string_view& rest, size_t digits, std::string& made) {
  uint32_t character = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (i >= rest.size() || !absl::ascii_isxdigit(rest[i]))
      return absl::InvalidArgumentError(
          absl::StrCat("an escape in a string has fewer than ", digits, " hexadecimal digits"));
    character = character * 16 + static_cast<uint32_t>(HexDigit(rest[i]));
  }
  if (character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
    return absl::InvalidArgumentError("an escape in a string is not a character");
  AppendCharacter(character, made);
  rest.remove_prefix(digits);
  return absl::OkStatus();
}

void AppendOctal(std::string_view& rest, std::string& made) {
  uint32_t character = 0;
  for (int i = 0; i < 3 && !rest.empty() && rest[0] >= '0' && rest[0] <= '7'; ++i) {
    character = character * 8 + static_cast<uint32_t>(rest[0] - '0');
    rest.remove_prefix(1);
  }
  AppendCharacter(character, made);
}

}  // namespace

absl::StatusOr<std::string> ReadLiteral(std::string_view inner) {
  // A backslash before the end of a line takes it away.
  static constexpr std::string_view kLetters = "\n\\'\"abfnrtv", kMeant = "?\\'\"\a\b\f\n\r\t\v";
  std::string made;
  for (std::string_view rest = inner; !rest.empty();) {
    const char c = rest[0];
    rest.remove_prefix(1);
    if (c != '\\' || rest.empty()) {
      made += c;
      continue;
    }
    const char letter = rest[0];
    if (letter >= '0' && letter <= '7') {
      AppendOctal(rest, made);
      continue;
    }
    rest.remove_prefix(1);
    if (const size_t at = kLetters.find(letter); at != kLetters.npos) {
      if (letter != '\n') made += kMeant[at];
    } else if (letter == 'x' || letter == 'u' || letter == 'U') {
      ONWARD_RETURN_IF_ERROR(AppendHex(rest, letter == 'x' ? 2 : letter == 'u' ? 4 : 8, made));
    } else if (letter == 'N') {
      return absl::InvalidArgumentError("characters by name (\\N) are not supported");
    } else {
      made += '\\';
      made += letter;
    }
  }
  return made;
}

}  // namespace onward::chat_template
