#include "files/tokenizer/character_map.h"

#include <cstring>

#include "files/utf8.h"

namespace onward::tokenizer {
namespace {

// Units of the trie: a label, an offset to the children, whether a value is among them.
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Label(uint32_t unit) { return unit & 0x800000ff; }
uint32_t Offset(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }
uint32_t Value(uint32_t unit) { return unit & 0x7fffffff; }

}  // namespace

bool CharacterMap::Read(std::string_view bytes) {
  if (bytes.size() < 4) return false;
  uint32_t size;
  std::memcpy(&size, bytes.data(), 4);
  if (size % 4 != 0 || size == 0 || size > bytes.size() - 4) return false;
  units_.resize(size / 4);
  std::memcpy(units_.data(), bytes.data() + 4, size);
  texts_ = bytes.substr(4 + size);
  return files::IsUtf8(texts_);
}

std::optional<std::string_view> CharacterMap::Mapped(size_t at) const {
  if (at >= units_.size() || Value(units_[at]) > texts_.size()) return std::nullopt;
  const std::string_view mapped = std::string_view(texts_).substr(Value(units_[at]));
  if (!mapped.empty() && (static_cast<uint8_t>(mapped[0]) & 0xc0) == 0x80) return std::nullopt;
  return mapped.substr(0, mapped.find('\0'));
}

std::optional<CharacterMap::Match> CharacterMap::Find(std::string_view text, bool first) const {
  std::optional<Match> found;
  if (units_.empty()) return found;
  size_t at = Offset(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte == 0) return found;
    at ^= byte;
    if (at >= units_.size() || Label(units_[at]) != byte) return found;
    const bool leaf = HasLeaf(units_[at]);
    at ^= Offset(units_[at]);
    if (!leaf) continue;
    const std::optional<std::string_view> mapped = Mapped(at);
    if (mapped) found = {i + 1, *mapped};
    if (first || !mapped) return found;
  }
  return found;
}

}  // namespace onward::tokenizer
