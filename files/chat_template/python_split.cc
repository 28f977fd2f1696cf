// Text cut apart, and numbers to text and back.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "files/chat_template/python_text.h"
#include "files/tokenizer/characters.h"

namespace onward::chat_template {

using tokenizer::TakeCharacter;

namespace {

std::vector<std::string> SplitBySpaces(std::string_view text, int64_t most) {
  std::vector<std::string> parts;
  for (text.remove_prefix(LeadingSpaces(text)); !text.empty();) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.emplace_back(WithoutTrailingSpaces(text));
      break;
    }
    std::string_view rest = text;
    while (!rest.empty() && LeadingSpaces(rest) == 0) TakeCharacter(rest);
    parts.emplace_back(text.substr(0, text.size() - rest.size()));
    rest.remove_prefix(LeadingSpaces(rest));
    text = rest;
  }
  return parts;
}

std::vector<std::string> SplitBySpacesFromRight(std::string_view text, int64_t most) {
  std::vector<std::string> parts;
  for (text = WithoutTrailingSpaces(text); !text.empty();) {
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      text.remove_prefix(LeadingSpaces(text));
      parts.emplace_back(text);
      break;
    }
    size_t begin = text.size();
    while (begin > 0) {
      size_t before = begin - 1;
      while (before > 0 && (static_cast<uint8_t>(text[before]) & 0xc0) == 0x80) --before;
      if (LeadingSpaces(text.substr(before, begin - before)) > 0) break;
      begin = before;
    }
    parts.emplace_back(text.substr(begin));
    text = WithoutTrailingSpaces(text.substr(0, begin));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

std::vector<std::string> Split(std::string_view text, std::optional<std::string_view> separator,
                               int64_t most, bool from_right) {
  if (!separator.has_value())
    return from_right ? SplitBySpacesFromRight(text, most) : SplitBySpaces(text, most);
  std::vector<std::string> parts;
  const auto cuts_left = [&] { return most < 0 || static_cast<int64_t>(parts.size()) < most; };
  if (from_right) {
    for (size_t at; cuts_left() && (at = text.rfind(*separator)) != text.npos;) {
      parts.emplace_back(text.substr(at + separator->size()));
      text = text.substr(0, at);
    }
    parts.emplace_back(text);
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  for (size_t at; cuts_left() && (at = text.find(*separator)) != text.npos;) {
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + separator->size());
  }
  parts.emplace_back(text);
  return parts;
}

std::vector<std::string> SplitLines(std::string_view text, bool keep_ends) {
  const auto ends_line = [](uint32_t c) {
    return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
  };
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view rest = text;
    size_t line = text.size();
    while (!rest.empty()) {
      const size_t at = text.size() - rest.size();
      const uint32_t c = TakeCharacter(rest);
      if (!ends_line(c)) continue;
      if (c == '\r' && !rest.empty() && rest[0] == '\n') rest.remove_prefix(1);
      line = at;
      break;
    }
    const size_t taken = text.size() - rest.size();
    lines.emplace_back(text.substr(0, keep_ends ? taken : line));
    text = rest;
  }
  return lines;
}

std::string Quoted(std::string_view text) {
  const bool single = text.find('\'') == text.npos || text.find('"') != text.npos;
  const char quote = single ? '\'' : '"';
  std::string made(1, quote);
  while (!text.empty()) {
    const std::string_view before = text;
    const uint32_t c = TakeCharacter(text);
    if (c == '\n') {
      made += "\\n";
    } else if (c == '\r') {
      made += "\\r";
    } else if (c == '\t') {
      made += "\\t";
    } else if (c == '\\' || c == static_cast<uint32_t>(quote)) {
      made += '\\';
      made += static_cast<char>(c);
    } else if (IsPrintableCharacter(c)) {
      made.append(before.substr(0, before.size() - text.size()));
    } else if (c < 0x100) {
      absl::StrAppendFormat(&made, "\\x%02x", c);
    } else if (c < 0x10000) {
      absl::StrAppendFormat(&made, "\\u%04x", c);
    } else {
      absl::StrAppendFormat(&made, "\\U%08x", c);
    }
  }
  return made + quote;
}

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  const size_t e = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  if (exponent < -4 || exponent >= 16) {
    return absl::StrCat(std::string(text.substr(0, e)), "e", exponent < 0 ? "-" : "+",
                        std::abs(exponent) < 10 ? "0" : "", std::abs(exponent));
  }
  const bool negative = text[0] == '-';
  std::string digits(text.substr(negative ? 1 : 0, e - (negative ? 1 : 0)));
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  std::string made = negative ? "-" : "";
  if (exponent < 0)
    return made + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  made += digits.substr(0, whole) + ".";
  return made + (digits.size() > whole ? digits.substr(whole) : "0");
}

std::string EscapedHtml(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '&') {
      made += "&amp;";
    } else if (c == '<') {
      made += "&lt;";
    } else if (c == '>') {
      made += "&gt;";
    } else if (c == '"') {
      made += "&#34;";
    } else if (c == '\'') {
      made += "&#39;";
    } else {
      made += c;
    }
  }
  return made;
}

namespace {

// Without underscores, which may stand between digits alone; nullopt: they stand elsewhere.
std::optional<std::string> WithoutUnderscores(std::string_view text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      made += text[i];
    } else if (i == 0 || i + 1 == text.size() || !absl::ascii_isdigit(text[i - 1]) ||
               !absl::ascii_isdigit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return made;
}

}  // namespace

std::optional<int64_t> ParseInteger(std::string_view text, bool& fits) {
  fits = true;
  const auto plain = WithoutUnderscores(Strip(text, std::nullopt, true, true));
  if (!plain.has_value()) return std::nullopt;
  std::string_view digits = *plain;
  if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
  const std::string_view unsigned_digits = digits.substr(digits.substr(0, 1) == "-" ? 1 : 0);
  if (unsigned_digits.empty() || digits.size() + 1 < plain->size() ||
      !std::all_of(unsigned_digits.begin(), unsigned_digits.end(), absl::ascii_isdigit) ||
      (plain->size() != digits.size() && digits[0] == '-'))
    return std::nullopt;
  int64_t value = 0;
  fits = std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc();
  return value;
}

std::optional<double> ParseFloat(std::string_view text) {
  const auto plain = WithoutUnderscores(Strip(text, std::nullopt, true, true));
  if (!plain.has_value() || plain->empty()) return std::nullopt;
  const std::string lower = absl::AsciiStrToLower(*plain);
  const std::string name = lower.substr(lower[0] == '-' || lower[0] == '+' ? 1 : 0);
  const bool named = name == "nan" || name == "inf" || name == "infinity";
  if (!named && lower.find_first_not_of("0123456789+-.e") != lower.npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(plain->c_str(), &end);
  if (end != plain->c_str() + plain->size()) return std::nullopt;
  return value;
}

}  // namespace onward::chat_template
