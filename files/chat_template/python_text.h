// Python's text operations. All text is UTF-8; positions and lengths count characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onward::chat_template {

void AppendCharacter(uint32_t character, std::string& text);
// The bytes of whitespace at the front.
size_t LeadingSpaces(std::string_view text);
std::string_view WithoutTrailingSpaces(std::string_view text);

// Without the characters in `characters` (nullopt: whitespace) at the ends.
std::string_view Strip(std::string_view text, std::optional<std::string_view> characters, bool left,
                       bool right);
std::string Upper(std::string_view text);
std::string Lower(std::string_view text);
std::string Capitalize(std::string_view text);
std::string Title(std::string_view text);        // str.title
std::string TitleFilter(std::string_view text);  // Jinja's filter: words end at blanks and brackets

// nullopt as the separator: by whitespace. `most` cuts (negative: all), from the right if asked.
std::vector<std::string> Split(std::string_view text, std::optional<std::string_view> separator,
                               int64_t most, bool from_right);
std::vector<std::string> SplitLines(std::string_view text, bool keep_ends);

// The byte at which each character begins, then the end.
std::vector<size_t> CharacterStarts(std::string_view text);

// Properties, by Unicode.
bool IsSpaceCharacter(uint32_t character);
bool IsAlphaCharacter(uint32_t character);
bool IsDigitCharacter(uint32_t character);
bool IsPrintableCharacter(uint32_t character);
bool IsUpperText(std::string_view text);
bool IsLowerText(std::string_view text);
bool IsTitleText(std::string_view text);
// True if all characters are such, and there is one.
bool All(std::string_view text, bool (*is)(uint32_t));

// repr().
std::string Quoted(std::string_view text);
std::string FloatText(double value);
// '&', '<', '>' and quotes as entities.
std::string EscapedHtml(std::string_view text);

// int() and float() of text; nullopt: not a number. `fits` is false for integers beyond 64 bits.
std::optional<int64_t> ParseInteger(std::string_view text, bool& fits);
std::optional<double> ParseFloat(std::string_view text);

}  // namespace onward::chat_template
