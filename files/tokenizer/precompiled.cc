// SentencePiece's map of characters: a double-array trie (Darts) from texts to what replaces them.
#include <utf8proc.h>

#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/escaping.h"
#include "files/tokenizer/characters.h"
#include "files/tokenizer/normalizer.h"
#include "files/tokenizer/pattern.h"
#include "files/utf8.h"
#include "onward/status.h"

namespace onward::tokenizer {
namespace {

// Units of the trie: a label, an offset to the children, whether a value is among them.
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Label(uint32_t unit) { return unit & 0x800000ff; }
uint32_t Offset(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }
uint32_t Value(uint32_t unit) { return unit & 0x7fffffff; }

class Precompiled : public Normalizer {
 public:
  // False: not such a map.
  bool Read(std::string_view bytes) {
    if (bytes.size() < 4) return false;
    uint32_t size;
    std::memcpy(&size, bytes.data(), 4);
    if (size % 4 != 0 || size == 0 || size > bytes.size() - 4) return false;
    units_.resize(size / 4);
    std::memcpy(units_.data(), bytes.data() + 4, size);
    texts_ = bytes.substr(4 + size);
    return IsUtf8(texts_);
  }

  // By grapheme clusters, as HF's library: a short one that is mapped as a whole, else each of its
  // characters.
  absl::StatusOr<std::string> Apply(std::string text, size_t most) const override {
    std::string made;
    std::string_view rest = text;
    while (!rest.empty()) {
      ONWARD_RETURN_IF_ERROR(CheckGrowth(made.size(), most));
      const std::string_view cluster = Cluster(rest);
      rest.remove_prefix(cluster.size());
      if (cluster.size() < 6) {
        if (const auto mapped = Mapped(cluster)) {
          made.append(*mapped);
          continue;
        }
      }
      for (std::string_view characters = cluster; !characters.empty();) {
        std::string_view after = characters;
        TakeCharacter(after);
        const std::string_view one = characters.substr(0, characters.size() - after.size());
        made.append(Mapped(one).value_or(one));
        characters = after;
      }
    }
    return made;
  }

 private:
  static std::string_view Cluster(std::string_view text) {
    std::string_view rest = text;
    auto last = static_cast<utf8proc_int32_t>(TakeCharacter(rest));
    utf8proc_int32_t state = 0;
    while (!rest.empty()) {
      std::string_view after = rest;
      const auto next = static_cast<utf8proc_int32_t>(TakeCharacter(after));
      if (utf8proc_grapheme_break_stateful(last, next, &state)) break;
      last = next;
      rest = after;
    }
    return text.substr(0, text.size() - rest.size());
  }

  // By the shortest key that `text` begins with.
  std::optional<std::string_view> Mapped(std::string_view text) const {
    size_t at = Offset(units_[0]);
    for (const char c : text) {
      const auto byte = static_cast<uint8_t>(c);
      if (byte == 0) return std::nullopt;
      at ^= byte;
      if (at >= units_.size() || Label(units_[at]) != byte) return std::nullopt;
      const bool leaf = HasLeaf(units_[at]);
      at ^= Offset(units_[at]);
      if (!leaf) continue;
      if (at >= units_.size() || Value(units_[at]) > texts_.size()) return std::nullopt;
      const std::string_view mapped = std::string_view(texts_).substr(Value(units_[at]));
      if (!mapped.empty() && (static_cast<uint8_t>(mapped[0]) & 0xc0) == 0x80) return std::nullopt;
      return mapped.substr(0, mapped.find('\0'));
    }
    return std::nullopt;
  }

  std::vector<uint32_t> units_;
  std::string texts_;  // each ended by a zero byte
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Normalizer>> ReadPrecompiled(const JsonField& field) {
  ONWARD_RETURN_IF_ERROR(field.Only({"type", "precompiled_charsmap"}));
  ONWARD_ASSIGN_OR_RETURN(const JsonField map, field.At("precompiled_charsmap"));
  ONWARD_ASSIGN_OR_RETURN(const std::string text, map.String());
  std::string bytes;
  auto made = std::make_shared<Precompiled>();
  if (!absl::Base64Unescape(text, &bytes) || !made->Read(bytes))
    return map.Error("is not a map of SentencePiece in Base64");
  return made;
}

}  // namespace onward::tokenizer
