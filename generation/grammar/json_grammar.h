// JSON (RFC 8259) as a grammar: the parts that schemas are made of. Each part is given the step
// that follows it, and returns its first.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "generation/grammar/grammar.h"

namespace onward::generation {

// A character's number.
struct CharacterRange {
  uint32_t first = 0, last = 0;
};
inline constexpr uint32_t kLastCharacter = 0x10FFFF;

class JsonGrammar {
 public:
  using Node = Grammar::Node;
  using Json = nlohmann::ordered_json;

  // `raw_characters`: characters beyond ASCII that must come are written as they are, else as \u
  // and their number.
  JsonGrammar(const ByteSet& writable, bool raw_characters);

  GrammarBuilder& builder() { return builder_; }

  // Nothing, a space, or a new line with its indentation.
  Node Space(Node next);
  // The separators with space around them: "[", ",", ...
  Node Mark(char mark, Node next) { return Space(builder_.Text({&mark, 1}, Space(next))); }
  Node Open(char mark, Node next) { return builder_.Text({&mark, 1}, Space(next)); }
  Node Close(char mark, Node next) { return Space(builder_.Text({&mark, 1}, next)); }

  // A string of so many characters.
  Node String(uint32_t least, uint32_t most, Node next);
  // So many characters of a string.
  Node Characters(uint32_t least, uint32_t most, Node next);
  // One of these characters of a string, written as it is or, where it must be, escaped.
  Node Character(const std::vector<CharacterRange>& ranges, Node next);
  // A key that is not one of these, written without escapes.
  Node OtherKey(const std::vector<std::string>& keys, Node next);
  Node Boolean(Node next) { return builder_.OneOf({"true", "false"}, next); }
  Node Null(Node next) { return builder_.Text("null", next); }
  Node Integer(Node next);  // of up to 18 digits
  Node Number(Node next);   // within the range of double-precision numbers
  Node Digits(uint32_t least, uint32_t most, Node next);
  Node Value(Node next);   // any
  Node Object(Node next);  // any
  Node Array(Node next);   // any

  // Values as they are written, without spaces.
  Node OneOf(const std::vector<Json>& values, Node next);
  std::string Written(const Json& value) const;

 private:
  // A character beyond ASCII, as UTF-8.
  Node Beyond(CharacterRange range, Node next);
  Node RawCharacter(Node next);
  Node Escape(Node next);

  const bool raw_characters_;
  GrammarBuilder builder_;
  int32_t indent_, character_, raw_character_, digit_, value_, object_, array_;
};

}  // namespace onward::generation
