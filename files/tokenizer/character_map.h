// SentencePiece's map of characters: a double-array trie (Darts) from texts to what replaces them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onward::tokenizer {

// Immutable once it is read, so thread-safe. An empty one maps nothing.
class CharacterMap {
 public:
  struct Match {
    size_t bytes = 0;  // of the key
    std::string_view mapped;
  };

  // False: the bytes are not such a map.
  bool Read(std::string_view bytes);
  // The shortest and the longest key that `text` begins with.
  std::optional<Match> Shortest(std::string_view text) const { return Find(text, true); }
  std::optional<Match> Longest(std::string_view text) const { return Find(text, false); }

 private:
  std::optional<Match> Find(std::string_view text, bool first) const;
  // The text that the value at a place of the trie stands for.
  std::optional<std::string_view> Mapped(size_t at) const;

  std::vector<uint32_t> units_;
  std::string texts_;  // each ended by a zero byte
};

}  // namespace onward::tokenizer
