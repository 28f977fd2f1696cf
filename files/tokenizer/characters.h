// Characters of UTF-8 text: their classes, case and normal forms, by utf8proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onward::tokenizer {

// Takes the first character off `text`, which is well-formed and not empty.
uint32_t TakeCharacter(std::string_view& text);
// The byte where the last character of `text` before `end`, which is not 0, begins.
size_t LastCharacter(std::string_view text, size_t end);
void AppendCharacter(uint32_t character, std::string& text);
int64_t CountCharacters(std::string_view text);

// Unicode's White_Space.
bool IsWhitespace(uint32_t character);
// The \w of regular expressions: letters, marks, digits, connecting punctuation.
bool IsWord(uint32_t character);
// A punctuation character of ASCII (symbols like '$' too) or of Unicode's categories P.
bool IsPunctuation(uint32_t character);
bool IsNumeric(uint32_t character);         // the categories N
bool IsDecimalDigit(uint32_t character);    // Nd
bool IsMark(uint32_t character);            // the categories M
bool IsNonspacingMark(uint32_t character);  // Mn
// Control and format characters, private use.
bool IsControl(uint32_t character);

// By Unicode's full mapping of each character, without regard to its neighbours.
std::string Lowercase(std::string_view text);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
// Takes time in proportion to the text, however many marks follow each other.
std::string Normalized(std::string_view text, NormalForm form);

// Text without the characters that `drop` names.
template <typename Drop>
std::string Without(std::string_view text, Drop drop) {
  std::string made;
  made.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    const uint32_t character = TakeCharacter(text);
    if (!drop(character)) made.append(before.substr(0, before.size() - text.size()));
  }
  return made;
}

}  // namespace onward::tokenizer
