#include "files/utf8.h"

#include <cstdint>
#include <cstdio>

namespace onward::files {
namespace {

// The bounds of the second byte after `first`, which begins a character of several bytes.
void SecondByte(uint8_t first, uint8_t& low, uint8_t& high) {
  low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
}

// Bytes of the well-formed character that `text` starts with; 0 when there is none.
size_t CharacterLength(std::string_view text) {
  const Utf8Front front = FrontOfUtf8(text);
  return front.complete ? front.bytes : 0;
}

}  // namespace

Utf8Front FrontOfUtf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x80) return {1, true, false};
  if (byte(0) < 0xc2 || byte(0) > 0xf4) return {1, false, false};
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  uint8_t low, high;
  SecondByte(byte(0), low, high);
  size_t good = 1;
  while (good < length && good < text.size() && byte(good) >= low && byte(good) <= high) {
    ++good;
    low = 0x80, high = 0xbf;
  }
  return {good, good == length, good < length && good == text.size()};
}

std::string ReplaceMalformed(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  while (!text.empty()) {
    const Utf8Front front = FrontOfUtf8(text);
    if (front.complete) {
      made.append(text.substr(0, front.bytes));
    } else {
      made += "\xef\xbf\xbd";
    }
    text.remove_prefix(front.bytes);
  }
  return made;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string PrintableUtf8(std::string_view text) {
  constexpr size_t kLongest = 200;
  std::string printable;
  while (!text.empty()) {
    if (printable.size() >= kLongest) return printable + "...";
    const size_t length = CharacterLength(text);
    const auto first = static_cast<uint8_t>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7f) {
      char escaped[8];
      snprintf(escaped, sizeof(escaped), "\\x%02x", first);
      printable += escaped;
      text.remove_prefix(1);
    } else {
      printable.append(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
  return printable;
}

}  // namespace onward::files
