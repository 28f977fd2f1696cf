#include "files/chat_template/python_text.h"

#include <utf8proc.h>

#include <algorithm>

#include "files/tokenizer/characters.h"

namespace onward::chat_template {

using tokenizer::TakeCharacter;

void AppendCharacter(uint32_t character, std::string& text) {
  tokenizer::AppendCharacter(character, text);
}

bool IsSpaceCharacter(uint32_t c) { return (c >= 0x1c && c <= 0x1f) || tokenizer::IsWhitespace(c); }

size_t LeadingSpaces(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view after = rest;
    if (!IsSpaceCharacter(TakeCharacter(after))) break;
    rest = after;
  }
  return text.size() - rest.size();
}

std::string_view WithoutTrailingSpaces(std::string_view text) {
  return Strip(text, std::nullopt, false, true);
}

std::vector<size_t> CharacterStarts(std::string_view text) {
  std::vector<size_t> starts;
  for (std::string_view rest = text; !rest.empty(); TakeCharacter(rest))
    starts.push_back(text.size() - rest.size());
  starts.push_back(text.size());
  return starts;
}

std::string_view Strip(std::string_view text, std::optional<std::string_view> characters, bool left,
                       bool right) {
  const auto drops = [&](std::string_view character) {
    if (characters.has_value()) return characters->find(character) != std::string_view::npos;
    return IsSpaceCharacter(TakeCharacter(character));
  };
  while (left && !text.empty()) {
    std::string_view after = text;
    TakeCharacter(after);
    if (!drops(text.substr(0, text.size() - after.size()))) break;
    text = after;
  }
  while (right && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xc0) == 0x80) --begin;
    if (!drops(text.substr(begin))) break;
    text = text.substr(0, begin);
  }
  return text;
}

namespace {

utf8proc_category_t CategoryOf(uint32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool IsCased(uint32_t c) {
  const utf8proc_category_t category = CategoryOf(c);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT || (c >= 0x2160 && c <= 0x217f) ||
         (c >= 0x24b6 && c <= 0x24e9) || c == 0xaa || c == 0xba ||
         (category == UTF8PROC_CATEGORY_LM && c >= 0x2b0 && c <= 0x2b8);
}

// Characters whose other case is more than one character (Unicode's SpecialCasing).
struct Special {
  uint32_t character;
  const char *upper, *title;
};
constexpr Special kSpecial[] = {
    {0xdf, "SS", "Ss"},     {0x149, "ʼN", "ʼN"},  {0x1f0, "J̌", "J̌"},    {0x587, "ԵՒ", "Եւ"},
    {0xfb00, "FF", "Ff"},   {0xfb01, "FI", "Fi"}, {0xfb02, "FL", "Fl"}, {0xfb03, "FFI", "Ffi"},
    {0xfb04, "FFL", "Ffl"}, {0xfb05, "ST", "St"}, {0xfb06, "ST", "St"}, {0x1e96, "H̱", "H̱"},
    {0x1e97, "T̈", "T̈"},     {0x1e98, "W̊", "W̊"},   {0x1e99, "Y̊", "Y̊"},   {0x1e9a, "Aʾ", "Aʾ"},
};

const Special* FindSpecial(uint32_t character) {
  for (const Special& row : kSpecial)
    if (row.character == character) return &row;
  return nullptr;
}

void AppendUpper(uint32_t c, std::string& made) {
  if (const Special* special = FindSpecial(c)) {
    made += special->upper;
  } else {
    AppendCharacter(static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))),
                    made);
  }
}

void AppendTitle(uint32_t c, std::string& made) {
  if (const Special* special = FindSpecial(c)) {
    made += special->title;
  } else {
    AppendCharacter(static_cast<uint32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))),
                    made);
  }
}

// A sigma at the end of a word has a form of its own.
bool EndsWord(std::string_view before, std::string_view after) {
  const auto ignorable = [](uint32_t c) {
    return tokenizer::IsMark(c) || c == '\'' || c == '.' || c == ':' || c == 0xb7 || c == 0x2019 ||
           c == 0xad || c == '^' || c == '`';
  };
  bool cased = false;
  for (const size_t end = before.size(); !before.empty() && end > 0;) {
    size_t begin = before.size() - 1;
    while (begin > 0 && (static_cast<uint8_t>(before[begin]) & 0xc0) == 0x80) --begin;
    std::string_view one = before.substr(begin);
    const uint32_t c = TakeCharacter(one);
    before = before.substr(0, begin);
    if (ignorable(c)) continue;
    cased = IsCased(c);
    break;
  }
  while (!after.empty()) {
    const uint32_t c = TakeCharacter(after);
    if (ignorable(c)) continue;
    return cased && !IsCased(c);
  }
  return cased;
}

void AppendLower(uint32_t c, std::string_view before, std::string_view after, std::string& made) {
  if (c == 0x130) {
    made += "i̇";
  } else if (c == 0x3a3) {
    made += EndsWord(before, after) ? "ς" : "σ";
  } else {
    AppendCharacter(static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))),
                    made);
  }
}

// Lower case from the character at `at` on, in the context of the whole text.
void AppendLowerFrom(std::string_view text, size_t at, std::string& made) {
  for (std::string_view rest = text.substr(at); !rest.empty();) {
    const std::string_view before = text.substr(0, text.size() - rest.size());
    const uint32_t c = TakeCharacter(rest);
    AppendLower(c, before, rest, made);
  }
}

}  // namespace

std::string Upper(std::string_view text) {
  std::string made;
  while (!text.empty()) AppendUpper(TakeCharacter(text), made);
  return made;
}

std::string Lower(std::string_view text) {
  std::string made;
  AppendLowerFrom(text, 0, made);
  return made;
}

std::string Capitalize(std::string_view text) {
  std::string made;
  if (text.empty()) return made;
  std::string_view rest = text;
  AppendTitle(TakeCharacter(rest), made);
  AppendLowerFrom(text, text.size() - rest.size(), made);
  return made;
}

std::string Title(std::string_view text) {
  std::string made;
  bool inside = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view before = text.substr(0, text.size() - rest.size());
    const uint32_t c = TakeCharacter(rest);
    if (inside) {
      AppendLower(c, before, rest, made);
    } else {
      AppendTitle(c, made);
    }
    inside = IsCased(c);
  }
  return made;
}

std::string TitleFilter(std::string_view text) {
  std::string made;
  const auto separates = [](uint32_t c) {
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || IsSpaceCharacter(c);
  };
  for (std::string_view rest = text; !rest.empty();) {
    // A word, or what stands between words: each begins with its own upper case.
    std::string_view end = rest;
    const bool between = separates(TakeCharacter(end));
    while (!end.empty()) {
      std::string_view after = end;
      if (separates(TakeCharacter(after)) != between) break;
      end = after;
    }
    const std::string_view item = rest.substr(0, rest.size() - end.size());
    std::string_view tail = item;
    AppendUpper(TakeCharacter(tail), made);
    made += Lower(tail);
    rest = end;
  }
  return made;
}

bool IsAlphaCharacter(uint32_t c) {
  const utf8proc_category_t category = CategoryOf(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsDigitCharacter(uint32_t c) {
  return tokenizer::IsDecimalDigit(c) || c == 0xb2 || c == 0xb3 || c == 0xb9 ||
         (c >= 0x2070 && c <= 0x2089 && c != 0x2071 && c != 0x2072 && c != 0x2073) ||
         (c >= 0x2460 && c <= 0x2468);
}

bool IsPrintableCharacter(uint32_t c) {
  if (c == ' ') return true;
  const utf8proc_category_t category = CategoryOf(c);
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
}

bool All(std::string_view text, bool (*is)(uint32_t)) {
  if (text.empty()) return false;
  while (!text.empty())
    if (!is(TakeCharacter(text))) return false;
  return true;
}

namespace {

// All letters that have a case have this one, and there is one.
bool CasedAs(std::string_view text, utf8proc_category_t wanted) {
  bool some = false;
  while (!text.empty()) {
    const uint32_t c = TakeCharacter(text);
    if (!IsCased(c)) continue;
    const utf8proc_category_t category = CategoryOf(c);
    const bool upper = category == UTF8PROC_CATEGORY_LU || (c >= 0x2160 && c <= 0x216f) ||
                       (c >= 0x24b6 && c <= 0x24cf);
    const bool lower = !upper && category != UTF8PROC_CATEGORY_LT;
    if (wanted == UTF8PROC_CATEGORY_LU ? !upper : !lower) return false;
    some = true;
  }
  return some;
}

}  // namespace

bool IsUpperText(std::string_view text) { return CasedAs(text, UTF8PROC_CATEGORY_LU); }
bool IsLowerText(std::string_view text) { return CasedAs(text, UTF8PROC_CATEGORY_LL); }

bool IsTitleText(std::string_view text) {
  bool some = false, inside = false;
  while (!text.empty()) {
    const uint32_t c = TakeCharacter(text);
    const utf8proc_category_t category = CategoryOf(c);
    const bool upper = category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT;
    if (upper && inside) return false;
    if (!upper && IsCased(c) && !inside) return false;
    inside = IsCased(c);
    some = some || inside;
  }
  return some;
}

}  // namespace onward::chat_template
