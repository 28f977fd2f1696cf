#include "files/tokenizer/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

namespace onward::tokenizer {
namespace {

utf8proc_category_t CategoryOf(uint32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool Between(uint32_t character, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t category = CategoryOf(character);
  return category >= first && category <= last;
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

int CombiningClass(utf8proc_int32_t character) {
  return utf8proc_get_property(character)->combining_class;
}

// Marks in the order of their classes, each run of them by itself: utf8proc's own sorting is
// quadratic in the length of a run.
void OrderMarks(std::vector<utf8proc_int32_t>& characters) {
  for (size_t begin = 0; begin < characters.size();) {
    if (CombiningClass(characters[begin]) == 0) {
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    while (end < characters.size() && CombiningClass(characters[end]) != 0) ++end;
    std::stable_sort(characters.begin() + begin, characters.begin() + end,
                     [](auto a, auto b) { return CombiningClass(a) < CombiningClass(b); });
    begin = end;
  }
}

}  // namespace

uint32_t TakeCharacter(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint32_t character = byte(0);
  size_t length = 1;
  if (character >= 0xf0) {
    character &= 0x07, length = 4;
  } else if (character >= 0xe0) {
    character &= 0x0f, length = 3;
  } else if (character >= 0xc0) {
    character &= 0x1f, length = 2;
  }
  length = std::min(length, text.size());
  for (size_t i = 1; i < length; ++i) character = character << 6 | (byte(i) & 0x3f);
  text.remove_prefix(length);
  return character;
}

void AppendCharacter(uint32_t character, std::string& text) {
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
}

size_t LastCharacter(std::string_view text, size_t end) {
  do {
    --end;
  } while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80);
  return end;
}

int64_t CountCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; });
}

bool IsWhitespace(uint32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool IsWord(uint32_t c) {
  if (c < 0x80) return c == '_' || CategoryOf(c) <= UTF8PROC_CATEGORY_NO;
  return Between(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) ||
         CategoryOf(c) == UTF8PROC_CATEGORY_PC || c == 0x200c || c == 0x200d ||
         (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

bool IsPunctuation(uint32_t c) {
  if (c < 0x80)
    return c > 0x20 && c < 0x7f && !Between(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NO);
  return Between(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool IsNumeric(uint32_t c) { return Between(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }

bool IsDecimalDigit(uint32_t c) { return CategoryOf(c) == UTF8PROC_CATEGORY_ND; }

bool IsMark(uint32_t c) { return Between(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }

bool IsNonspacingMark(uint32_t c) { return CategoryOf(c) == UTF8PROC_CATEGORY_MN; }

bool IsControl(uint32_t c) { return Between(c, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO); }

std::string Lowercase(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  while (!text.empty()) {
    const uint32_t character = TakeCharacter(text);
    if (character < 0x80) {
      made += static_cast<char>(character >= 'A' && character <= 'Z' ? character + 32 : character);
    } else if (character == 0x130) {  // the only one that becomes two
      made += "i\xcc\x87";
    } else {
      const auto lower = utf8proc_tolower(static_cast<utf8proc_int32_t>(character));
      AppendCharacter(static_cast<uint32_t>(lower), made);
    }
  }
  return made;
}

std::string Normalized(std::string_view text, NormalForm form) {
  if (IsAscii(text)) return std::string(text);
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  const bool compose = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    const auto character = static_cast<utf8proc_int32_t>(TakeCharacter(text));
    utf8proc_int32_t parts[32];  // more than any character has
    const auto count = utf8proc_decompose_char(character, parts, 32, options, nullptr);
    if (count < 1 || count > 32) {
      characters.push_back(character);
    } else {
      characters.insert(characters.end(), parts, parts + count);
    }
  }
  OrderMarks(characters);
  if (compose) {
    const auto length = utf8proc_normalize_utf32(
        characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    if (length >= 0) characters.resize(static_cast<size_t>(length));
  }
  std::string made;
  for (const utf8proc_int32_t character : characters)
    AppendCharacter(static_cast<uint32_t>(character), made);
  return made;
}

}  // namespace onward::tokenizer
