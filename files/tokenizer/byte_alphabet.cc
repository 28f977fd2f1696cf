#include "files/tokenizer/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "files/tokenizer/characters.h"

namespace onward::tokenizer {
namespace {

// Visible bytes of Latin-1 are their characters; the others follow each other from 256 on.
std::array<uint16_t, 256> Letters() {
  std::array<uint16_t, 256> letters{};
  uint16_t next = 256;
  for (uint16_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    letters[byte] = visible ? byte : next++;
  }
  return letters;
}

std::array<int16_t, 512> BytesOfLetters() {
  std::array<int16_t, 512> bytes;
  bytes.fill(-1);
  const std::array<uint16_t, 256> letters = Letters();
  for (int16_t byte = 0; byte < 256; ++byte) bytes[letters[static_cast<size_t>(byte)]] = byte;
  return bytes;
}

}  // namespace

std::string ToByteAlphabet(std::string_view bytes) {
  static const std::array<uint16_t, 256> letters = Letters();
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) AppendCharacter(letters[static_cast<uint8_t>(byte)], text);
  return text;
}

std::string FromByteAlphabet(std::string_view text) {
  static const std::array<int16_t, 512> bytes = BytesOfLetters();
  std::string made;
  made.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const uint32_t character = TakeCharacter(rest);
    if (character >= bytes.size() || bytes[character] < 0) return std::string(text);
    made += static_cast<char>(bytes[character]);
  }
  return made;
}

}  // namespace onward::tokenizer
