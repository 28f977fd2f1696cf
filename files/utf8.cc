#include "files/utf8.h"

#include <cstdint>
#include <cstdio>

namespace onward {
namespace {

// Bytes of the well-formed character that `text` starts with; 0 when there is none.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (byte(0) == 0xe0 && byte(1) < 0xa0) return 0;
  if (byte(0) == 0xed && byte(1) > 0x9f) return 0;
  if (byte(0) == 0xf0 && byte(1) < 0x90) return 0;
  if (byte(0) == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

}  // namespace

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

}  // namespace onward
